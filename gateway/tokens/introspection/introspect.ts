import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type ClaimNames,
  type NamedClaims,
  NO_NAMES,
  readNamedClaims,
} from '../../../policy-engine/decide/named-claims.ts'
import { createScopeSets } from '../../../policy-engine/decide/scope-check.ts'
import { createSharedCache, type SharedLookupResult } from '../cache/shared-cache.ts'
import type { IntrospectionResult, TokenStatus } from '../cache/token-status.ts'
import {
  createIntrospectionClient,
  type IntrospectionClient,
  type IntrospectionClientOptions,
} from './introspection-client.ts'
import { pickReadMembers, readIntrospection } from './read-introspection.ts'

/**
 * The introspection cache that gateways share in Redis. Without this cache, each gateway introspects every token
 * itself.
 */
export type SharedLevel = {
  readonly redis: SharedRedis
  /** Returns whether Redis holds a revocation of the token. */
  readonly isRevoked: (caller: Caller) => Promise<boolean>
  /** `tokenCache.maxTtl`. Milliseconds. */
  readonly maxTtlMs: number
  /**
   * Returns the maximum age of a usable entry in the shared cache. The age depends on whether revocations of the issuer
   * arrive now, and on the time since this process cleared its token cache (`sinceClearMs`). Milliseconds.
   */
  readonly maxAgeMs: (issuer: string, sinceClearMs: number) => number
  readonly onResult: (result: SharedLookupResult) => void
}

export type IntrospectionOptions = IntrospectionClientOptions & {
  /** Identifies the issuer's configuration to other gateways. */
  readonly id: string
  /** Maximum time for which a result is used. Milliseconds. */
  readonly ttlMs: number
  readonly shared: SharedLevel | undefined
  /** The wall clock. Milliseconds since the epoch. */
  readonly nowMs: () => number
}

export type Introspector = Pick<IntrospectionClient, 'load' | 'unavailableReason' | 'close'> & {
  /**
   * Returns the issuer's result, or a recent result from another gateway.
   * @param sinceClearMs time since this process cleared its token cache. Default: the process never cleared the cache.
   * @param names claims that policies use. Default: none.
   * @throws {UnverifiableError} by rejection, when the status cannot be determined.
   */
  introspect(token: string, sinceClearMs?: number, names?: ClaimNames): Promise<IntrospectionResult>
}

/**
 * Creates the introspector of one issuer. The introspector looks in the shared cache before it calls the issuer. Cost
 * of a call: at most 50 ms for the lookup in the shared cache, and one HTTP request.
 */
export function createIntrospector(options: IntrospectionOptions): Introspector {
  const { issuer, ttlMs, shared, nowMs, tickMs } = options
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
          secret: options.clientSecret,
          maxTtlMs: Math.min(shared.maxTtlMs, ttlMs),
          maxAgeMs: (sinceClearMs) => shared.maxAgeMs(issuer, sinceClearMs),
          read,
          nowMs,
          tickMs,
        })

  return {
    async introspect(token, sinceClearMs = Number.POSITIVE_INFINITY, names = NO_NAMES) {
      if (sharedCache !== undefined) {
        const found = await sharedCache.find(token, sinceClearMs, names)
        if (found !== undefined) return found
      }
      const startedMs = tickMs()
      const response = await client.introspect(token)
      const claims = readNamedClaims(membersOf(response), names)
      const status = read(response, claims)
      sharedCache?.store(token, { response: pickReadMembers(response), claims }, status, startedMs)
      return { status, ageMs: 0, ttlMs }
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
