import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import {
  CURRENT_STATUS_ONLY,
  type EarlierStatus,
  type IntrospectionResult,
  type TokenStatus,
} from './cache/token-status.ts'
import type { Issuer } from './issuer.ts'
import { readCompactJwt } from './jwt/read-compact-jwt.ts'

/** The parameters of `Issuer.introspect` other than the token. */
type Inquiry = readonly [
  sinceGapMs: number,
  names: ClaimNames,
  earlier: EarlierStatus,
  requestId: string | undefined,
]

/** How to validate a token. `known`: the status is clear without a validation. */
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
 * Selects the issuer that validates a token. The claim `iss` of a JWT must equal the identifier of the issuer. Before
 * this match, the function uses neither `kid` nor keys. An opaque token names no issuer, so the gateway queries the
 * issuers with introspection one after another.
 */
export function resolveIssuer(token: string, issuers: readonly Issuer[]): TokenCheck {
  const jwt = readCompactJwt(token)
  if (jwt === 'malformed') return MALFORMED
  if (jwt === 'opaque') {
    const introspectors = issuers.flatMap(({ issuer, introspect }) =>
      introspect === undefined ? [] : [{ issuer, introspect }],
    )
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
      validate: async (sinceGapMs, names, _earlier, requestId) => {
        const status = await verify(jwt, names, requestId)
        const ttlMs = status.active ? (issuer.usableMs?.(status.caller) ?? Infinity) : Infinity
        if (ttlMs > 0 || introspect === undefined) return { status, ageMs: 0, ttlMs }
        // `jwt.maxRevocationDelay` has passed, so an earlier status must not be used.
        const result = await introspect(token, sinceGapMs, names, CURRENT_STATUS_ONLY, requestId)
        return { ...result, staleIfErrorMs: 0 }
      },
    }
  return introspect === undefined
    ? WRONG_ISSUER
    : { kind: 'opaque', validate: (...how) => introspect(token, ...how) }
}

type Introspecting = Pick<Issuer, 'issuer'> & { readonly introspect: NonNullable<Issuer['introspect']> }

/**
 * Returns the first active result. The issuer of the earlier status is first, so the other issuers cannot delay the
 * result of this issuer. If this issuer reports the token as inactive, failures of other issuers have no effect.
 * Otherwise, a failure counts if no issuer returns an active result.
 */
async function introspectInOrder(
  token: string,
  how: Inquiry,
  introspectors: readonly Introspecting[],
): Promise<IntrospectionResult> {
  const [, , { issuer: known }] = how
  let failure: unknown
  let last: IntrospectionResult | undefined
  let isRejected = false
  for (const { issuer, introspect } of withFirst(known, introspectors)) {
    try {
      const result = await introspect(token, ...how)
      if (result.status.active) return result
      isRejected ||= issuer === known
      // `inactive` means that this issuer does not recognize the token. Any other fault describes the problem more
      // precisely.
      if (last === undefined || isUnknown(last.status)) last = result
    } catch (error) {
      failure ??= error
    }
  }
  if (last === undefined || (failure !== undefined && !isRejected)) throw failure
  return last
}

/** Moves one issuer to the start of the list. */
function withFirst(first: string | undefined, all: readonly Introspecting[]): readonly Introspecting[] {
  if (first === undefined || all.length === 1) return all
  return [...all.filter(({ issuer }) => issuer === first), ...all.filter(({ issuer }) => issuer !== first)]
}

function isUnknown(status: TokenStatus): boolean {
  return !status.active && status.fault.reason === 'inactive'
}
