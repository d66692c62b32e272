import { IntrospectionError } from '../../gateway/tokens/introspection/introspection-error.ts'
import { readIntrospection } from '../../gateway/tokens/introspection/read-introspection.ts'
import type { JwtRules } from '../../gateway/tokens/jwt/jwt-rules.ts'
import { readTokenClaims } from '../../gateway/tokens/jwt/read-token-claims.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { type ClaimNames, readNamedClaims } from '../../policy-engine/decide/named-claims.ts'
import type { TokenFault } from '../../policy-engine/decide/refusal.ts'
import { createScopeSets } from '../../policy-engine/decide/scope-sets.ts'

/** What an issuer says about a token, by the names of RFC 7662 and RFC 9068. */
export type Claims = Readonly<Record<string, unknown>>

/** A bag of claims, read as the gateway reads what an issuer tells it. */
export type ReadClaims =
  | { readonly caller: Caller }
  /** The token would be refused wherever it was sent. */
  | { readonly fault: TokenFault }
  /** No issuer would say so, so that nobody can tell what the gateway would do. */
  | { readonly problem: string }

const scopes = createScopeSets()

/**
 * Makes a caller of claims that nobody vouches for: for tests and explanations, never for a request.
 * @param names the claims that policies look at.
 */
export function callerOfClaims(
  claims: Claims,
  {
    nowSeconds,
    names,
    jwt,
  }: {
    readonly nowSeconds: number
    readonly names: ClaimNames
    /** How the gateway reads JWTs of this issuer; undefined: as an issuer's answer about a token. */
    readonly jwt?: JwtRules | undefined
  },
): ReadClaims {
  const { iss } = claims
  if (typeof iss !== 'string') return { fault: { reason: 'wrong_issuer' } }
  if (jwt !== undefined) {
    const verdict = readTokenClaims(new Map(Object.entries(claims)), jwt, { nowSeconds, scopes, names })
    return verdict.active ? { caller: verdict.caller } : { fault: verdict.fault }
  }
  try {
    const verdict = readIntrospection(
      { ...claims, scope: scopeText(claims['scope']), active: true },
      { issuer: iss, nowSeconds, scopes, claims: readNamedClaims(new Map(Object.entries(claims)), names) },
    )
    return verdict.active ? { caller: verdict.caller } : { fault: verdict.fault }
  } catch (error) {
    if (!(error instanceof IntrospectionError)) throw error
    return { problem: error.message.replace(/^.*of no use: /, '') }
  }
}

/** Claims that a test or a command line leaves out: somebody's good token for a resource. `null` takes one away. */
export function withDefaults(
  claims: Claims,
  resource: { readonly identifier: string; readonly issuers: readonly string[] },
  nowSeconds: number,
): Claims {
  const all = {
    iss: resource.issuers[0],
    aud: resource.identifier,
    sub: 'someone',
    client_id: 'some-client',
    exp: nowSeconds + 300,
    ...claims,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== undefined))
}

/** Some issuers write a list. */
function scopeText(scope: unknown): unknown {
  return Array.isArray(scope) && scope.every((one) => typeof one === 'string')
    ? scope.join(' ')
    : (scope ?? '')
}
