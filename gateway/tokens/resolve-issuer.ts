import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import {
  CURRENT_STATUS_ONLY,
  type EarlierStatus,
  type IntrospectionResult,
  type TokenStatus,
} from './cache/token-status.ts'
import type { Issuer } from './issuer.ts'
import { readCompactJwt } from './jwt/read-compact-jwt.ts'

/** The parameters of `Issuer.introspect` besides the token. */
type Inquiry = readonly [sinceClearMs: number, names: ClaimNames, earlier: EarlierStatus]

/** How to validate a token. With `known`, the status is already known. */
export type TokenCheck =
  | { readonly kind: 'known'; readonly status: TokenStatus }
  /** Validation by signature. */
  | { readonly kind: 'jwt'; validate(...how: Inquiry): Promise<IntrospectionResult> }
  /** Validation by introspection: an opaque token, or a JWT of an issuer without JWT verification. */
  | { readonly kind: 'opaque'; validate(...how: Inquiry): Promise<IntrospectionResult> }

const MALFORMED: TokenCheck = { kind: 'known', status: { active: false, fault: { reason: 'malformed' } } }
/** The token names an unknown issuer. Or the token needs introspection, and no issuer offers introspection. */
const WRONG_ISSUER: TokenCheck = {
  kind: 'known',
  status: { active: false, fault: { reason: 'wrong_issuer' } },
}

/**
 * Selects the issuer that validates a token. A JWT belongs only to the issuer whose identifier equals its `iss` claim;
 * `kid` and keys are not used before this match. An opaque token names no issuer, so the issuers with introspection are
 * tried in their order.
 */
export function resolveIssuer(token: string, issuers: readonly Issuer[]): TokenCheck {
  const jwt = readCompactJwt(token)
  if (jwt === 'malformed') return MALFORMED
  if (jwt === 'opaque') {
    const introspectors = issuers.flatMap(({ introspect }) => (introspect === undefined ? [] : [introspect]))
    return introspectors.length === 0
      ? WRONG_ISSUER
      : { kind: 'opaque', validate: (...how) => introspectInOrder(token, how, introspectors) }
  }
  const issuer = issuers.find((one) => one.issuer === jwt.issuer)
  if (issuer === undefined) return WRONG_ISSUER
  const { verify, introspect } = issuer
  if (verify !== undefined)
    return {
      kind: 'jwt',
      validate: async (sinceClearMs, names) => {
        const status = await verify(jwt, names)
        const ttlMs = status.active ? (issuer.usableMs?.(status.caller) ?? Infinity) : Infinity
        if (ttlMs > 0 || introspect === undefined) return { status, ageMs: 0, ttlMs }
        // `jwt.maxRevocationDelay` has passed, so an earlier status must not be used.
        const result = await introspect(token, sinceClearMs, names, CURRENT_STATUS_ONLY)
        return { ...result, staleIfErrorMs: 0 }
      },
    }
  return introspect === undefined
    ? WRONG_ISSUER
    : { kind: 'opaque', validate: (...how) => introspect(token, ...how) }
}

/** Returns the first active result. A failure counts only when no other issuer returns an active result. */
async function introspectInOrder(
  token: string,
  how: Inquiry,
  introspectors: readonly NonNullable<Issuer['introspect']>[],
): Promise<IntrospectionResult> {
  let failure: unknown
  let last: IntrospectionResult | undefined
  for (const introspect of introspectors) {
    try {
      const result = await introspect(token, ...how)
      if (result.status.active) return result
      // `inactive` means that this issuer does not recognize the token. Any other fault describes the problem more
      // precisely.
      if (last === undefined || isUnknown(last.status)) last = result
    } catch (error) {
      failure ??= error
    }
  }
  if (failure !== undefined || last === undefined) throw failure
  return last
}

function isUnknown(status: TokenStatus): boolean {
  return !status.active && status.fault.reason === 'inactive'
}
