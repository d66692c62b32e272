import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'

/**
 * Warns of resources that send clients to the bundled authorization server, which issues no tokens for them. Code: C344.
 * @param issued the paths that it knows.
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
