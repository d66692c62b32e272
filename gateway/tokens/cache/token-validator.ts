import { hash } from 'node:crypto'
import type { Revocation } from '../../../oauth/revocation.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type ClaimNames,
  type ClaimSelection,
  EMPTY_CLAIM_SELECTION,
  hasClaims,
} from '../../../policy-engine/decide/named-claims.ts'
import type { Issuer } from '../issuer.ts'
import { resolveIssuer, type TokenCheck } from '../resolve-issuer.ts'
import { createRevokedTokens } from '../revocation/revoked-tokens.ts'
import type { TokenCache } from './token-cache.ts'
import { type TokenKind, tokenKind } from './token-kind.ts'
import type { TokenStatus } from './token-status.ts'

/** Options for `createTokenValidator()`. If an issuer cannot determine the token status, its promise rejects. */
export type TokenValidatorOptions = {
  /** Issuers whose tokens at least one resource accepts. */
  readonly issuers: readonly Issuer[]
  readonly cache: TokenCache
  /** The wall clock, which token expiry uses. Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** A monotonic clock, which the age of cache entries uses. Milliseconds. */
  readonly tickMs: () => number
  readonly observe: { hit(kind: TokenKind): void; miss(kind: TokenKind): void }
}

export type TokenValidator = {
  /**
   * Returns a cached status, or else a promise of the status. Concurrent calls with one token share one lookup.
   * @param issuers identifiers of the issuers that the resource accepts, in the order of introspection. Pass the same
   * array each time. The status depends on all of them, so the cache key includes all of them.
   * @param wanted claims that policies use. Default: none. A cached status without a needed claim is not used.
   * @throws {UnverifiableError} by rejection, when the status cannot be determined.
   */
  validate(
    token: string,
    issuers: readonly string[],
    wanted?: ClaimSelection,
  ): TokenStatus | Promise<TokenStatus>
  /**
   * Rejects revoked tokens from now on, including tokens whose validation is in progress.
   * @param issuer sender of the message, for a revocation that names no issuer.
   */
  revoke(revocation: Revocation, issuer?: string): void
  /** Returns whether this process has received a revocation that applies to this caller. */
  isRevoked(caller: Caller): boolean
  /** Clears the cache after a revocation gap. */
  clear(): void
}

/** The issuers of one resource, and an ID of the whole set. */
type IssuerSet = { readonly issuers: readonly Issuer[]; readonly id: string }

type UncachedCheck = Exclude<TokenCheck, { readonly kind: 'known' }>

const REVOKED: TokenStatus = { active: false, fault: { reason: 'inactive' } }

function isEnough(status: TokenStatus, needed: ClaimNames): boolean {
  return needed.length === 0 || !status.active || hasClaims(status.caller.claims, needed)
}

/** Creates a validator that caches token statuses. Concurrent lookups of one token share one call to the issuer. */
export function createTokenValidator(options: TokenValidatorOptions): TokenValidator {
  const { cache, nowMs, tickMs } = options
  const chosen = new WeakMap<readonly string[], IssuerSet>()
  const flights = new Map<string, Promise<TokenStatus>>()
  const revoked = createRevokedTokens({ onEvicted: clear })
  // Number of `clear()` calls. The result of a validation is not stored if `clear()` was called during the validation.
  let clears = 0
  let clearedAtMs = Number.NEGATIVE_INFINITY

  /** Returns the issuers of a resource. The sets are memoized: there are as many lists as resources. */
  function issuerSet(names: readonly string[]): IssuerSet {
    const known = chosen.get(names)
    if (known !== undefined) return known
    const issuers = names.flatMap((name) => options.issuers.find(({ issuer }) => issuer === name) ?? [])
    const set = { issuers, id: issuers.map(({ id }) => id).join(' ') }
    chosen.set(names, set)
    return set
  }

  function clear(): void {
    clears += 1
    clearedAtMs = tickMs()
    cache.clear()
    // Later calls send their own request. Calls that already wait still get the result of their request.
    flights.clear()
  }

  async function runCheck(
    key: string,
    kind: TokenKind,
    check: UncachedCheck,
    names: ClaimNames,
  ): Promise<TokenStatus> {
    const startedAt = clears
    const at = { tickMs: tickMs(), nowMs: nowMs() }
    const result = await check.validate(at.tickMs - clearedAtMs, names)
    const { status } = result
    // A revocation may have arrived during the validation. A valid signature does not show that the token is not
    // revoked.
    if (status.active && revoked.has(status.caller)) return REVOKED
    if (clears === startedAt) cache.set(key, result, { ...at, kind })
    return status
  }

  return {
    validate(token, of, { needed, names } = EMPTY_CLAIM_SELECTION) {
      const { issuers, id } = issuerSet(of)
      const key = tokenKey(id, token)
      const known = cache.get(key, tickMs())
      if (known !== undefined && isEnough(known, needed)) {
        options.observe.hit(tokenKind(token))
        return known.active && revoked.has(known.caller) ? REVOKED : known
      }
      const kind = tokenKind(token)
      options.observe.miss(kind)
      // Two calls share a lookup only if both read the same claims. The claims differ only just after a reload of the
      // policies.
      const flightKey = names.length === 0 ? key : `${key}\n${names.join('\n')}`
      const shared = flights.get(flightKey)
      if (shared !== undefined) return shared
      const check = resolveIssuer(token, issuers)
      if (check.kind === 'known') return check.status
      const flight = runCheck(key, kind, check, names).finally(() => {
        if (flights.get(flightKey) === flight) flights.delete(flightKey)
      })
      flights.set(flightKey, flight)
      return flight
    },
    revoke(revocation, issuer) {
      revoked.add(revocation, issuer, nowMs() / 1_000)
      if (revocation.grant !== undefined) cache.dropGrant(revocation.grant)
    },
    isRevoked: (caller) => revoked.has(caller),
    clear,
  }
}

/**
 * Returns the key of a token in caches and logs. The key is a hash, so a reader of a cache gets no token. The hash
 * includes the issuer's configuration: the same string from two issuers is two tokens.
 */
export function tokenKey(issuerId: string, token: string): string {
  // An issuer ID contains no line break. Two different pairs of issuer ID and token therefore never give the same
  // input. A string with one character per byte takes the least memory.
  return hash('sha256', `${issuerId}\n${token}`, 'binary')
}
