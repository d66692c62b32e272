import type { SharedRedis } from '../../platform/redis/shared-redis.ts'
import type { RateLimit, RateLimitState } from '../../policy-engine/format/rate-limit.ts'
import { LocalLimiter } from './local-limiter.ts'
import { createSharedLimiter, type FallbackReason } from './shared-limiter.ts'

/** What counts requests: in this process, or in Redis together with others. */
export type RateLimiter = {
  take(limit: RateLimit, key: string): RateLimitState | Promise<RateLimitState>
  /** Callers that are counted in this process. */
  readonly size: number
}

/** Some 40 MiB of them: who was seen least recently is forgotten first, and starts anew. */
const MAX_ENTRIES = 100_000
/** Without Redis every answer is given at once. With it, whenever it is not usable. */
export function openRateLimiter(options: {
  readonly shared: SharedRedis | undefined
  /** A clock that never jumps. Milliseconds. */
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
    get size() {
      return local.size
    },
  }
}
