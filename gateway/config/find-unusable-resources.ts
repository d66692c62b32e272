import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import { parsePathTemplate } from '../../policy-engine/match/path-template.ts'
import { findReservedPath } from '../../policy-engine/match/reserved-paths.ts'
import type { GatewayFile } from './gateway-file.ts'

/**
 * Reports C340 to C342: duplicate resources, resources on paths that Scopegate reserves, and issuers that are not
 * configured.
 */
export function findUnusableResources(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const resources = file.resources ?? []
  const issuers = file.issuers.map(({ issuer }) => issuer)
  const say = (code: string, key: string, message: string, hint: string): Diagnostic =>
    diagnostic(code, `resources${key}: ${message}`, wholeFile(shownAs), { hint })
  return resources.flatMap(({ path, issuers: named = [] }, index) => {
    const found: Diagnostic[] = []
    const first = resources.findIndex((other) => other.path === path)
    if (first !== index)
      found.push(
        say(
          'C340',
          `[${index}].path`,
          `${path} is already defined in resources[${first}]`,
          'remove one of the two',
        ),
      )
    const reserved = reservedPath(path)
    if (reserved !== undefined)
      found.push(
        say(
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
        say(
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
