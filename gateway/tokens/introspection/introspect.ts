import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type ClaimNames,
  type NamedClaims,
  NO_NAMES,
  readNamedClaims,
} from '../../../policy-engine/decide/named-claims.ts'
import { createScopeSets } from '../../../policy-engine/decide/scope-check.ts'
import { createSharedCache, type SharedLookupResult, type SharedResult } from '../cache/shared-cache.ts'
import {
  type EarlierStatus,
  type IntrospectionResult,
  NO_EARLIER_STATUS,
  type TokenStatus,
} from '../cache/token-status.ts'
import {
  createIntrospectionClient,
  type IntrospectionClient,
  type IntrospectionClientOptions,
} from './introspection-client.ts'
import { isOutage } from './introspection-error.ts'
import { pickReadMembers, readIntrospection } from './read-introspection.ts'

/**
 * The introspection cache that gateways share in Redis. Without this cache, each gateway introspects every token
 * itself.
 */
export type SharedLevel = {
  readonly redis: SharedRedis
  /** Returns whether Redis holds a revocation of the token. */
  readonly isRevoked: (caller: Caller) => Promise<boolean>
  /** The setting `tokenCache.maxTtl`. Milliseconds. */
  readonly maxTtlMs: number
  /**
   * Returns the maximum age of a usable entry in the shared cache. The age depends on whether revocations of the issuer
   * arrive now, and on the time since the last revocation gap (`sinceGapMs`). Milliseconds.
   */
  readonly maxAgeMs: (issuer: string, sinceGapMs: number) => number
  /** Deadline for all Redis commands of one lookup. Default: 50. Milliseconds. */
  readonly deadlineMs?: number
  readonly onResult: (result: SharedLookupResult) => void
}

export type IntrospectionOptions = IntrospectionClientOptions & {
  /** Identifies the issuer's configuration to other gateways. */
  readonly id: string
  /** Maximum time for which a result is used. Milliseconds. */
  readonly ttlMs: number
  /** `staleIfError` of the issuer. Milliseconds. */
  readonly staleIfErrorMs: number
  readonly shared: SharedLevel | undefined
  /** The wall clock. Milliseconds since the epoch. */
  readonly nowMs: () => number
}

export type Introspector = Pick<IntrospectionClient, 'load' | 'unavailableReason' | 'close'> & {
  /**
   * Returns the issuer's result, or a recent result from another gateway. If the issuer cannot respond, returns the
   * earlier status. An earlier status of this process takes precedence over a status from another gateway.
   * @param sinceGapMs time since the last revocation gap. Default: there was no gap.
   * @param names claims that policies use. Default: none.
   * @param earlier the earlier status of the token. Default: none.
   * @param requestId ID of the request that needs the status.
   * @throws {UnverifiableError} by rejection, when the status cannot be determined.
   */
  introspect(
    token: string,
    sinceGapMs?: number,
    names?: ClaimNames,
    earlier?: EarlierStatus,
    requestId?: string,
  ): Promise<IntrospectionResult>
}

/**
 * Creates the introspector of one issuer. The introspector looks in the shared cache before it calls the issuer.
 */
export function createIntrospector(options: IntrospectionOptions): Introspector {
  const { issuer, ttlMs, staleIfErrorMs, shared, nowMs, tickMs } = options
  const client = createIntrospectionClient(options)
  const scopes = createScopeSets()
  const read = (response: unknown, claims: NamedClaims): TokenStatus =>
    readIntrospection(response, { issuer, nowSeconds: nowMs() / 1_000, scopes, claims })
  const sharedCache =
    shared === undefined
      ? undefined
      : createSharedCache({
          ...shared,
          shared: shared.redis,
          id: options.id,
          secret: () => options.followedSecret?.current ?? options.clientSecret,
          maxTtlMs: Math.min(shared.maxTtlMs, ttlMs),
          staleIfErrorMs,
          maxAgeMs: (sinceGapMs) => shared.maxAgeMs(issuer, sinceGapMs),
          read,
          nowMs,
          tickMs,
        })

  /** Returns an earlier result after a failure of the issuer. */
  async function findEarlier(
    earlier: EarlierStatus,
    stale: SharedResult | undefined,
  ): Promise<IntrospectionResult | undefined> {
    const own = earlier.find(issuer)
    if (own !== undefined) return { status: own, ageMs: 0, ttlMs: 0 }
    if (!earlier.mayBeShared) return undefined
    return stale !== undefined && (await sharedCache?.isUsable(stale)) === true ? stale : undefined
  }

  return {
    async introspect(
      token,
      sinceGapMs = Number.POSITIVE_INFINITY,
      names = NO_NAMES,
      earlier = NO_EARLIER_STATUS,
      requestId,
    ) {
      const found = sharedCache === undefined ? undefined : await sharedCache.find(token, sinceGapMs, names)
      if (found === 'revoked') earlier.discard(issuer)
      const result = typeof found === 'string' ? undefined : found
      if (result !== undefined && result.status.isStale !== true) return result
      const startedMs = tickMs()
      let response: unknown
      try {
        response = await client.introspect(token, earlier.find(issuer) !== undefined, requestId)
      } catch (error) {
        if (!isOutage(error)) earlier.responded(issuer)
        const last = isOutage(error) ? await findEarlier(earlier, result) : undefined
        if (last === undefined) throw error
        return last
      }
      earlier.responded(issuer)
      const claims = readNamedClaims(membersOf(response), names)
      const status = read(response, claims)
      if (status.active)
        sharedCache?.store(token, { response: pickReadMembers(response), claims }, status, startedMs)
      else {
        earlier.discard(issuer)
        // After a failed lookup, such as a timeout, Redis can still contain a status.
        if (found !== 'miss') sharedCache?.drop(token)
      }
      return { status, ageMs: 0, ttlMs, staleIfErrorMs }
    },
    load: client.load,
    get unavailableReason() {
      return client.unavailableReason
    },
    close: client.close,
  }
}

function membersOf(response: unknown): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(response ?? {}))
}
