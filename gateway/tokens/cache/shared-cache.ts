import { createSeals, type Seal } from '../../../platform/redis/sealed-value.ts'
import type { SharedRedis, UnavailableReason } from '../../../platform/redis/shared-redis.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { type ClaimNames, hasClaims, type NamedClaims } from '../../../policy-engine/decide/named-claims.ts'
import { ageOf, readSharedEntry, type SharedEntry, writeSharedEntry } from './shared-entry.ts'
import type { ActiveStatus, IntrospectionResult, TokenStatus } from './token-status.ts'

/** Result of a lookup in Redis. The result is a metric label, so the set of values is fixed. */
export type SharedLookupResult = 'hit' | 'miss' | 'stale' | 'revoked' | 'bad' | 'failed' | UnavailableReason

export type SharedCacheOptions = {
  readonly shared: SharedRedis
  /** Identifies the issuer's configuration. */
  readonly id: string
  /** Returns a secret that only the gateways and the issuer have. The secret may change. */
  readonly secret: () => string
  /** Converts a response to a token status. Throws when the response is not valid. */
  readonly read: (response: unknown, claims: NamedClaims) => TokenStatus
  /** Returns whether Redis holds a revocation of the token. */
  readonly isRevoked: (caller: Caller) => Promise<boolean>
  /** Maximum lifetime of an entry. Milliseconds. */
  readonly maxTtlMs: number
  /** `staleIfError` of the issuer. Milliseconds. */
  readonly staleIfErrorMs: number
  /**
   * Returns the maximum age of a usable entry. `sinceGapMs` is the time since the last revocation gap.
   * Milliseconds.
   */
  readonly maxAgeMs: (sinceGapMs: number) => number
  /** The wall clock, and a monotonic clock. Milliseconds. */
  readonly nowMs: () => number
  readonly tickMs: () => number
  /** Deadline for all Redis commands of one lookup. Default: 50. Milliseconds. */
  readonly deadlineMs?: number
  readonly onResult: (result: SharedLookupResult) => void
}

/** A result from the shared cache. A result with `isStale` may be used only while the issuer cannot respond. */
export type SharedResult = IntrospectionResult & { readonly status: ActiveStatus }

/**
 * Introspection results of one issuer, shared by all gateways. Calls never throw, never reject, and take at most
 * `deadlineMs`.
 */
export type SharedCache = {
  /**
   * Looks up a token.
   * @param names claims that policies use. The cache does not use an entry without one of these claims.
   * @returns a result, `revoked` if Redis holds a revocation of the token, `miss` if Redis has no entry, or undefined.
   * Introspect the token unless the result is current.
   */
  find(
    token: string,
    sinceGapMs: number,
    names: ClaimNames,
  ): Promise<SharedResult | 'revoked' | 'miss' | undefined>
  /**
   * Returns whether Redis responds and holds no revocation of the token. Call this before the use of a stale result.
   */
  isUsable(result: SharedResult): Promise<boolean>
  /** Removes the result of a token, in the background. */
  drop(token: string): void
  /**
   * Stores a result for the other gateways, in the background. `startedMs` is the start of the request to the issuer,
   * on the monotonic clock.
   */
  store(
    token: string,
    introspection: Pick<SharedEntry, 'response' | 'claims'>,
    status: TokenStatus,
    startedMs: number,
  ): void
}

const DEADLINE_MS = 50
const PREFIX = 'scopegate:verdict:'
/**
 * Maximum size of a shared result. Larger results are not shared, so each gateway introspects the tokens itself. Bytes.
 */
const MAX_SEALED_BYTES = 8 * 1024
/** Maximum clock skew between gateways. An entry with a later time is not valid. Milliseconds. */
const MAX_AHEAD_MS = 60_000

type Found = { readonly result: SharedLookupResult; readonly found?: SharedResult }

/**
 * Creates the second level of the token cache. This level stores active results of one issuer, sealed
 * (sealed-value.ts). The gateway trusts a value from Redis only if the seal of the value is valid. Each lookup checks
 * age and expiry. A lookup also checks revocations, except for a stale result. `isUsable()` checks revocations for a
 * stale result.
 */
export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { shared, nowMs, tickMs, onResult, staleIfErrorMs, deadlineMs = DEADLINE_MS } = options
  let seals = createSealsWith(options.secret())

  function createSealsWith(secret: string) {
    return { secret, of: createSeals({ purpose: 'verdict', id: options.id, secret }) }
  }

  function sealOf(token: string): Seal {
    const secret = options.secret()
    if (seals.secret !== secret) seals = createSealsWith(secret)
    return seals.of(token)
  }

  async function look(seal: Seal, maxAgeMs: number, names: ClaimNames): Promise<Found> {
    const key = PREFIX + seal.name
    // Limits the transfer: another client of Redis may have stored a huge value under this key.
    const [sealed, remainingMs] = await Promise.all([
      shared.redis.getrangeBuffer(key, 0, MAX_SEALED_BYTES),
      shared.redis.pttl(key),
    ])
    shared.succeeded()
    if (sealed.length === 0) return { result: 'miss' }
    const text = sealed.length > MAX_SEALED_BYTES ? undefined : seal.open(sealed)
    const stored = text === undefined ? undefined : readSharedEntry(text)
    if (stored === undefined || remainingMs < 0 || stored.askedAtMs > nowMs() + MAX_AHEAD_MS)
      return { result: 'bad' }
    const ageMs = ageOf(stored, { nowMs: nowMs(), remainingMs })
    const ttlMs = Math.min(stored.lifetimeMs, options.maxTtlMs)
    if (ageMs >= ttlMs + staleIfErrorMs || !hasClaims(stored.claims, names)) return { result: 'stale' }
    const status = options.read(stored.response, stored.claims)
    if (!status.active) return { result: 'stale' }
    const times = { ageMs, ttlMs: stored.lifetimeMs, staleIfErrorMs }
    if (ageMs >= Math.min(ttlMs, maxAgeMs)) {
      if (staleIfErrorMs === 0) return { result: 'stale' }
      return { result: 'stale', found: { status: { ...status, isStale: true }, ...times } }
    }
    if (await options.isRevoked(status.caller)) return { result: 'revoked' }
    return { result: 'hit', found: { status, ...times } }
  }

  async function inTime<Result>(pending: Promise<Result>, late: Result): Promise<Result> {
    let timer: NodeJS.Timeout | undefined
    const deadline = new Promise<Result>((resolve) => {
      timer = setTimeout(() => resolve(late), deadlineMs)
    })
    try {
      return await Promise.race([pending, deadline])
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async find(token, sinceGapMs, names) {
      const unusable = shared.unavailableReason()
      if (unusable !== undefined) {
        onResult(unusable)
        return undefined
      }
      const { result, found } = await inTime<Found>(
        look(sealOf(token), options.maxAgeMs(sinceGapMs), names).catch((error) => ({
          result: isOther(error) ? 'bad' : 'failed',
        })),
        { result: 'failed' },
      )
      if (result === 'failed') shared.failed()
      onResult(result)
      return result === 'revoked' || result === 'miss' ? result : found
    },
    isUsable({ status }) {
      const isFree = options.isRevoked(status.caller).then(
        (isRevoked) => !isRevoked,
        () => false,
      )
      return inTime(isFree, false)
    },
    drop(token) {
      if (shared.unavailableReason() !== undefined) return
      shared.redis.del(PREFIX + sealOf(token).name).then(shared.succeeded, () => shared.failed())
    },
    store(token, introspection, status, startedMs) {
      if (!status.active || shared.unavailableReason() !== undefined) return
      const elapsedMs = Math.ceil(tickMs() - startedMs)
      const askedAtMs = nowMs() - elapsedMs
      const expiresInMs = status.caller.expiresAtSeconds * 1_000 - askedAtMs
      const lifetimeMs = Math.floor(Math.min(options.maxTtlMs, expiresInMs))
      const keptMs = Math.floor(Math.min(options.maxTtlMs + staleIfErrorMs, expiresInMs))
      const remainingMs = keptMs - elapsedMs
      if (remainingMs <= 0) return
      const seal = sealOf(token)
      const sealed = seal.close(writeSharedEntry({ ...introspection, askedAtMs, lifetimeMs, keptMs }))
      if (sealed.length > MAX_SEALED_BYTES) return
      shared.redis
        .set(PREFIX + seal.name, sealed, 'PX', remainingMs)
        .then(shared.succeeded, () => shared.failed())
    },
  }
}

/**
 * Returns whether the error means that the key holds a value of another Redis type. In this case, Redis itself works.
 */
function isOther(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE')
}
