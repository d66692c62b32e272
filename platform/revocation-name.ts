import { hash } from 'node:crypto'

/**
 * Returns the identifier of a token or subject in a revocation (oauth/revocation.ts).
 * RFC 7519 sections 4.1.2 and 4.1.7: a `sub` or `jti` is unique only within its issuer. An issuer identifier contains no
 * line feed.
 * @param claim the `jti` of the token, or the `sub` of the subject.
 */
export function revocationName(issuer: string, claim: string): string {
  return hash('sha256', `${issuer}\n${claim}`, 'base64url')
}
