import type { Caller } from '../../policy-engine/decide/caller.ts'
import { type ClaimNames, readNamedClaims } from '../../policy-engine/decide/named-claims.ts'
import type { TokenFault } from '../../policy-engine/decide/rejection.ts'
import { createScopeSets } from '../../policy-engine/decide/scope-check.ts'
import { IntrospectionError } from '../tokens/introspection/introspection-error.ts'
import { readIntrospection } from '../tokens/introspection/read-introspection.ts'
import type { JwtRules } from '../tokens/jwt/jwt-rules.ts'
import { readTokenClaims } from '../tokens/jwt/read-token-claims.ts'

/** Claims of a token, with the names of RFC 7662 and RFC 9068. */
export type Claims = Readonly<Record<string, unknown>>

/** The result of validating claims as the gateway validates an introspection result. */
export type ReadClaims =
  | { readonly caller: Caller }
  /** The gateway rejects the token for every resource. */
  | { readonly fault: TokenFault }
  /** The reason why the claims are unusable. No issuer sends such claims, so the reaction of the gateway is unknown. */
  | { readonly problem: string }

const scopes = createScopeSets()

/**
 * Creates a caller from unverified claims. For tests and explanations, never for a request.
 * @param names the claims that policies use.
 */
export function callerOfClaims(
  claims: Claims,
  {
    nowSeconds,
    issuers,
    names,
    jwt,
  }: {
    readonly nowSeconds: number
    readonly issuers: readonly string[]
    readonly names: ClaimNames
    /** Validation rules for JWTs of this issuer. Undefined: validates the claims as an introspection result. */
    readonly jwt?: JwtRules | undefined
  },
): ReadClaims {
  const { iss } = claims
  if (typeof iss !== 'string') return { fault: { reason: 'wrong_issuer' } }
  if (jwt !== undefined) {
    const status = readTokenClaims(new Map(Object.entries(claims)), jwt, { nowSeconds, scopes, names })
    return status.active ? { caller: status.caller } : { fault: status.fault }
  }
  try {
    const status = readIntrospection(
      { ...claims, scope: scopeText(claims['scope']), active: true },
      { issuer: iss, nowSeconds, scopes, claims: readNamedClaims(new Map(Object.entries(claims)), names) },
    )
    if (status.active) return { caller: status.caller }
    // The gateway checks the issuer before the binding, so a wrong issuer replaces the fault of the binding.
    const isForeign = status.fault.reason === 'sender_constrained' && !issuers.includes(iss)
    return { fault: isForeign ? { reason: 'wrong_issuer' } : status.fault }
  } catch (error) {
    if (!(error instanceof IntrospectionError)) throw error
    return { problem: error.message.replace(/^.*not usable: /, '') }
  }
}

/** Adds defaults for missing claims, so that the token is valid for a resource. `null` removes a claim. */
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

/** Joins a list of scopes, because some issuers send a list. */
function scopeText(scope: unknown): unknown {
  return Array.isArray(scope) && scope.every((one) => typeof one === 'string')
    ? scope.join(' ')
    : (scope ?? '')
}
