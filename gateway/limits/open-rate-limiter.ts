import type { SharedRedis } from '../../platform/redis/shared-redis.ts'
import type { RateLimit, RateLimitState } from '../../policy-engine/format/rate-limit.ts'
import { LocalLimiter } from './local-limiter.ts'
import { createSharedLimiter, type FallbackReason } from './shared-limiter.ts'

export type RateLimiter = {
  take(limit: RateLimit, key: string): RateLimitState | Promise<RateLimitState>
  /** Returns the rejection that this process would return now without Redis. Counts nothing. */
  denialOf(limit: RateLimit, key: string): RateLimitState | undefined
  /** Number of keys of the local limiter. */
  readonly size: number
}

/**
 * Maximum number of local keys, which take about 40 MiB. The limiter evicts the least recently used key. The next
 * request of an evicted key starts with the full allowance.
 */
const MAX_ENTRIES = 100_000
export function openRateLimiter(options: {
  readonly shared: SharedRedis | undefined
  readonly tickMs: () => number
  readonly onFallback: (reason: FallbackReason) => void
}): RateLimiter {
  const { shared, tickMs, onFallback } = options
  const local = new LocalLimiter({ maxEntries: MAX_ENTRIES })
  return {
    take:
      shared === undefined
        ? (limit, key) => local.take(limit, key, tickMs())
        : createSharedLimiter({ shared, local, tickMs, onFallback }).take,
    denialOf: (limit, key) => local.denialOf(limit, key, tickMs()),
    get size() {
      return local.size
    },
  }
}
