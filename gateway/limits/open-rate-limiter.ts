import type { Logger } from '../../runtime/logger.ts'
import { connectRedis } from '../../runtime/redis.ts'
import { LocalLimiter } from './local-limiter.ts'
import type { RateLimit, RateVerdict } from './rate-limit.ts'
import { createSharedLimiter, type FallbackReason } from './shared-limiter.ts'

/** What counts requests: in this process, or in Redis together with others. */
export type RateLimiter = {
  take(limit: RateLimit, key: string): RateVerdict | Promise<RateVerdict>
  /** Callers that are counted in this process. */
  readonly size: number
  close(): void
}

/** Some 40 MiB of them: who was seen least recently is forgotten first, and starts anew. */
const MAX_ENTRIES = 100_000
/** Longest wait for Redis before a request is counted here. Milliseconds. */
const REDIS_TIMEOUT_MS = 75

/**
 * Without Redis every answer is given at once. With it the gateway starts also when Redis is away, and counts by itself
 * until it is there.
 * @throws {BootError} ERR_REDIS_URL, ERR_REDIS_REFUSED: the setting is wrong.
 */
export async function openRateLimiter(options: {
  readonly redis: { readonly url: string } | undefined
  readonly logger: Logger
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  readonly onFallback: (reason: FallbackReason) => void
}): Promise<RateLimiter> {
  const { logger, tickMs, onFallback } = options
  const local = new LocalLimiter({ maxEntries: MAX_ENTRIES })
  if (options.redis === undefined)
    return {
      take: (limit, key) => local.take(limit, key, tickMs()),
      get size() {
        return local.size
      },
      close: () => undefined,
    }

  const redis = await connectRedis({
    url: options.redis.url,
    logger,
    commandTimeoutMs: REDIS_TIMEOUT_MS,
    mayBeAway: true,
  })
  const shared = createSharedLimiter({
    redis,
    local,
    tickMs,
    onFallback,
    onChange: (isUsable) =>
      isUsable
        ? logger.info({ event: 'rate_limit_shared' }, 'rate limits are counted in redis again')
        : logger.warn(
            { event: 'rate_limit_local' },
            'redis does not answer: rate limits are counted in this process',
          ),
  })
  return {
    take: shared.take,
    get size() {
      return local.size
    },
    close: () => redis.disconnect(),
  }
}
