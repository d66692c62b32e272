import type { ServerFound } from './check-server.ts'
import type { Examination } from './checks.ts'

/**
 * Checks that the authorization server lists the scopes of the resource. `scopes_supported` is optional in both
 * documents: RFC 8414 section 2, RFC 9728 section 2.
 */
export function checkScopes(
  ofResource: readonly string[],
  { url, scopes }: Pick<ServerFound, 'url' | 'scopes'>,
  { report }: Pick<Examination, 'report'>,
): void {
  if (scopes === undefined) {
    report.ok('scopes', url, 'the authorization server does not list its scopes (optional)')
    return
  }
  const unknown = ofResource.filter((scope) => !scopes.includes(scope))
  if (unknown.length === 0)
    report.ok(
      'scopes',
      url,
      `the authorization server offers all ${ofResource.length} scopes of the resource`,
    )
  else
    report.fault(
      'scopes',
      url,
      `${unknown.join(' ')}: required by the resource, but unknown to the authorization server`,
      'use the same catalogue for both (config/scopes.yaml), or correct the policies',
    )
}
