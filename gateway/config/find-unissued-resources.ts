import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'

/**
 * Warns (C344) of resources whose issuer is the bundled authorization server, if it does not issue tokens for them.
 * @param issued the resource paths that the authorization server knows.
 */
export function findUnissuedResources(
  file: GatewayFile,
  issued: readonly string[],
  shownAs: string,
): readonly Diagnostic[] {
  if (file.authorizationServer === undefined) return []
  return (file.resources ?? [])
    .filter(({ path, issuers }) => {
      const isItsOwn =
        issuers?.includes(file.baseUrl) ?? file.issuers.some(({ issuer }) => issuer === file.baseUrl)
      return path !== '/' && isItsOwn && !issued.includes(path)
    })
    .map(({ path }) =>
      diagnostic(
        'C344',
        `resources: the authorization server issues no tokens for ${path}`,
        wholeFile(shownAs),
        {
          severity: 'warning',
          hint: 'add it to protectedResources in authorization-server.yaml, or name other issuers',
        },
      ),
    )
}
