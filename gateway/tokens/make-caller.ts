import { hash } from 'node:crypto'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { Confirmation } from '../../policy-engine/decide/confirmation.ts'
import type { NamedClaims } from '../../policy-engine/decide/named-claims.ts'
import type { GrantedScopes } from '../../policy-engine/decide/scope-sets.ts'

/** What an issuer said about a token, wherever it stood; each value already found to be of its type. */
export type TokenFacts = {
  readonly subject: string | undefined
  readonly clientId: string | undefined
  readonly granted: GrantedScopes
  /** The claim `aud` as it came. */
  readonly audience: unknown
  readonly issuer: string
  readonly expiresAtSeconds: number
  readonly notBeforeSeconds: number | undefined
  readonly issuedAtSeconds: number | undefined
  /** The claim `jti` as it came. */
  readonly tokenId: unknown
  readonly grant: string | undefined
  readonly confirmation: Confirmation | undefined
  readonly claims: NamedClaims
}

// What a header field value may hold: visible ASCII, spaces inside. RFC 9110 section 5.5.
const HEADER_SAFE = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/

/** Makes the caller of a token: the same for claims of a JWT and for those of an introspection response. */
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
    // RFC 7519 section 4.1.7: a name is good within its issuer. An issuer has no line break.
    tokenId: typeof tokenId === 'string' ? hash('sha256', `${issuer}\n${tokenId}`, 'base64url') : undefined,
    grant: facts.grant,
    confirmation: facts.confirmation,
    claims: facts.claims,
    identityHeaders: identityHeaders({ subject, clientId, scope: granted.text, issuer }),
  })
}

/** Whether a claim can be told to an upstream as it is. */
export function isHeaderSafe(value: unknown): value is string {
  return typeof value === 'string' && HEADER_SAFE.test(value)
}

/** A string or an array of strings; anything else names no resource. One trailing slash does not matter. */
function readAudience(audience: unknown): readonly string[] {
  const members = Array.isArray(audience) ? audience : [audience]
  return members
    .filter((member) => typeof member === 'string')
    .map((member) => (member.endsWith('/') ? member.slice(0, -1) : member))
}

/** A subject is somebody's only together with its issuer: two issuers may use one name for two people. */
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
