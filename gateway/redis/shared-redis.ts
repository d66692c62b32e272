import type { Redis } from 'ioredis'
import type { Logger } from '../../runtime/logger.ts'
import { connectRedis } from '../../runtime/redis.ts'
import { createBreaker } from './breaker.ts'

/** Why Redis is not asked. A metric label, so a closed list. */
export type Unusable = 'away' | 'open'

/**
 * The one connection of a process to the Redis that gateways share, for whatever a request can do without: each use has
 * its own way to go on, all of them give Redis up together.
 */
export type SharedRedis = {
  readonly redis: Redis
  /** Undefined: ask, and say then how it went. Cost: nothing; whoever is told not to ask need not wait. */
  unusable(): Unusable | undefined
  succeeded(): void
  failed(): void
  close(): void
}

const COMMAND_TIMEOUT_MS = 75

/**
 * Connects; the gateway starts also when Redis is away, and connects when it is there.
 * @throws {BootError} ERR_REDIS_URL, ERR_REDIS_REFUSED: the setting is wrong.
 */
export async function openSharedRedis(options: {
  readonly url: string
  readonly logger: Logger
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  /** Longest wait for an answer, 75 unless given. Milliseconds. */
  readonly commandTimeoutMs?: number
}): Promise<SharedRedis> {
  const { url, logger, tickMs, commandTimeoutMs = COMMAND_TIMEOUT_MS } = options
  const redis = await connectRedis({ url, logger, commandTimeoutMs, mayBeAway: true })
  const breaker = createBreaker({
    probe: () => redis.ping(),
    onChange: (isUsable) =>
      isUsable
        ? logger.info({ event: 'redis_used_again' }, 'redis answers again')
        : logger.warn(
            { event: 'redis_given_up' },
            'redis does not answer: each gateway counts, remembers and asks for itself',
          ),
  })
  return {
    redis,
    unusable() {
      if (redis.status !== 'ready') return 'away'
      return breaker.isClosed(tickMs()) ? undefined : 'open'
    },
    succeeded: breaker.succeeded,
    failed: () => breaker.failed(tickMs()),
    close: () => redis.disconnect(),
  }
}
