import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import { metadataAliases } from '../../policy-engine/match/authorization-server-routes.ts'
import { parsePathTemplate } from '../../policy-engine/match/path-template.ts'
import { findReservedPath } from '../../policy-engine/match/reserved-paths.ts'
import type { GatewayFile } from './gateway-file.ts'
import { toResources } from './to-resources.ts'

/**
 * Reports C340 to C342: duplicate resources, resources on paths that Scopegate reserves, and issuers that are not
 * configured.
 */
export function findUnusableResources(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const resources = file.resources ?? []
  const issuers = file.issuers.map(({ issuer }) => issuer)
  const report = (code: string, key: string, message: string, hint: string): Diagnostic =>
    diagnostic(code, `resources${key}: ${message}`, wholeFile(shownAs), { hint })
  return resources.flatMap(({ path, issuers: named = [] }, index) => {
    const found: Diagnostic[] = []
    const first = resources.findIndex((other) => other.path === path)
    if (first !== index)
      found.push(
        report(
          'C340',
          `[${index}].path`,
          `${path} is already defined in resources[${first}]`,
          'remove one of the two',
        ),
      )
    const reserved = reservedPath(path)
    if (reserved !== undefined)
      found.push(
        report(
          'C341',
          `[${index}].path`,
          `${path} is reserved for Scopegate (${reserved})`,
          'choose another path: policies cannot define routes there',
        ),
      )
    for (const [at, issuer] of named.entries()) {
      if (issuers.includes(issuer)) continue
      const near = suggest(issuer, issuers)
      found.push(
        report(
          'C342',
          `[${index}].issuers[${at}]`,
          `"${issuer}" is not an issuer in this file`,
          near === undefined ? `use one of ${issuers.join(', ')}` : `did you mean "${near}"?`,
        ),
      )
    }
    return found
  })
}

function reservedPath(path: string): string | undefined {
  if (path === '/') return undefined
  const template = parsePathTemplate(path)
  return 'problem' in template ? undefined : findReservedPath(template)
}

/**
 * Warns (C344) of resources that accept tokens of the bundled authorization server, if this server issues no tokens for
 * these resources.
 * @param issued the resource paths in the configuration of the authorization server.
 */
export function findUnissuedResources(
  file: GatewayFile,
  issued: readonly string[],
  shownAs: string,
): readonly Diagnostic[] {
  if (file.authorizationServer === undefined) return []
  return (file.resources ?? [])
    .filter(({ path, issuers }) => {
      const isBundled =
        issuers?.includes(file.baseUrl) ?? file.issuers.some(({ issuer }) => issuer === file.baseUrl)
      return path !== '/' && isBundled && !issued.includes(path)
    })
    .map(({ path }) =>
      diagnostic(
        'C344',
        `resources: the authorization server issues no tokens for ${path}`,
        wholeFile(shownAs),
        {
          severity: 'warning',
          hint: 'add the resource to protectedResources in authorization-server.yaml, or name other issuers',
        },
      ),
    )
}

/**
 * Reports C345 for aliases without effect: no resource with a path accepts tokens of the bundled authorization server.
 */
export function findUnusedAliases(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  if (file.compat?.resourcePathAliases !== true) return []
  const aliases =
    file.authorizationServer === undefined ? [] : metadataAliases(toResources(file).all, file.baseUrl)
  if (aliases.length > 0) return []
  return [
    diagnostic(
      'C345',
      'compat.resourcePathAliases: has no effect, because no resource with a path accepts tokens of the bundled authorization server',
      wholeFile(shownAs),
      { hint: 'add such a resource to resources, or remove the key' },
    ),
  ]
}
