import { revocationName } from '../../platform/revocation-name.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { Confirmation } from '../../policy-engine/decide/confirmation.ts'
import type { NamedClaims } from '../../policy-engine/decide/named-claims.ts'
import type { GrantedScopes } from '../../policy-engine/decide/scope-check.ts'

/**
 * Claims of a token, from a JWT or an introspection response. Values of type `unknown` are not validated. All other
 * values are validated.
 */
export type TokenFacts = {
  readonly subject: string | undefined
  readonly clientId: string | undefined
  readonly granted: GrantedScopes
  readonly audience: unknown
  readonly issuer: string
  readonly expiresAtSeconds: number
  readonly notBeforeSeconds: number | undefined
  readonly issuedAtSeconds: number | undefined
  /** The claim `jti`. */
  readonly tokenId: unknown
  readonly grant: string | undefined
  readonly confirmation: Confirmation | undefined
  readonly claims: NamedClaims
}

// A header field value of at most 1,024 characters: visible ASCII, and spaces between visible characters. RFC 9110
// section 5.5.
const HEADER_SAFE = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/

/** Creates the caller of a token. The result is the same for a JWT and for an introspection response. */
export function makeCaller(facts: TokenFacts): Caller {
  const { subject, clientId, granted, issuer, tokenId } = facts
  return Object.freeze({
    subject,
    clientId,
    scopes: granted.set,
    audience: readAudience(facts.audience),
    issuer,
    expiresAtSeconds: facts.expiresAtSeconds,
    notBeforeSeconds: facts.notBeforeSeconds,
    issuedAtSeconds: facts.issuedAtSeconds,
    tokenId: typeof tokenId === 'string' ? revocationName(issuer, tokenId) : undefined,
    grant: facts.grant,
    confirmation: facts.confirmation,
    claims: facts.claims,
    identityHeaders: identityHeaders({ subject, clientId, scope: granted.text, issuer }),
  })
}

/** Returns whether a claim can be sent to an upstream as a header value, unmodified. */
export function isHeaderSafe(value: unknown): value is string {
  return typeof value === 'string' && HEADER_SAFE.test(value)
}

/** Returns the strings in `aud`, each without one trailing slash. Ignores all other values. */
function readAudience(audience: unknown): readonly string[] {
  const members = Array.isArray(audience) ? audience : [audience]
  return members
    .filter((member) => typeof member === 'string')
    .map((member) => (member.endsWith('/') ? member.slice(0, -1) : member))
}

/**
 * Returns the identity headers for upstreams. The headers include the issuer, because two issuers may use one subject
 * for two different users.
 */
function identityHeaders(caller: {
  readonly subject: string | undefined
  readonly clientId: string | undefined
  readonly scope: string
  readonly issuer: string
}): readonly string[] {
  const { subject, clientId, scope, issuer } = caller
  const headers: string[] = []
  if (subject !== undefined) headers.push('x-auth-subject', subject)
  if (clientId !== undefined) headers.push('x-auth-client-id', clientId)
  headers.push('x-auth-scope', scope, 'x-auth-issuer', issuer)
  return headers
}
