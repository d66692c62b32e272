import type { Redis } from 'ioredis'
import type { Logger } from '../logging/logger.ts'
import { connectRedis } from './redis.ts'
import { createBreaker } from './redis-breaker.ts'

/** Why Redis is not asked. A metric label, so a closed list. */
export type UnavailableReason = 'away' | 'open'

/**
 * The one connection of a process to the Redis that gateways share. Each use has a fallback. The circuit breaker is common
 * to all uses except `send()`.
 */
export type SharedRedis = {
  readonly redis: Redis
  /** Undefined: use Redis, and report the outcome. Otherwise use the fallback, without a wait. */
  unavailableReason(): UnavailableReason | undefined
  succeeded(): void
  failed(): void
  /** Why Redis is not used; undefined while it is. */
  readonly trouble: string | undefined
  /**
   * Sends a command without the deadline of the others, for callers that have a longer one of their own.
   * Rejects when the connection ends, or when Redis has been silent for 2 s.
   */
  send(name: string, args: readonly (string | number)[]): Promise<unknown>
  close(): void
}

const COMMAND_TIMEOUT_MS = 75
const TROUBLE: Readonly<Record<UnavailableReason, string>> = {
  away: 'no connection: each gateway counts, caches and introspects on its own',
  open: 'it fails or does not respond in time: each gateway counts, caches and introspects on its own',
}
/** Longer than Redis can be silent on a connection that stays open. Milliseconds. */
const NO_TIMEOUT_MS = 60_000

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
  const { Command } = await import('ioredis')
  const breaker = createBreaker({
    probe: () => redis.ping(),
    onChange: (isUsable) =>
      isUsable
        ? logger.info({ event: 'redis_used_again' }, 'redis answers again')
        : logger.warn({ event: 'redis_given_up' }, `redis: ${TROUBLE.open}`),
  })

  function unavailableReason(): UnavailableReason | undefined {
    if (redis.status !== 'ready') return 'away'
    return breaker.isClosed(tickMs()) ? undefined : 'open'
  }

  return {
    redis,
    unavailableReason: unavailableReason,
    get trouble() {
      const reason = unavailableReason()
      return reason && TROUBLE[reason]
    },
    succeeded: breaker.succeeded,
    failed: () => breaker.failed(tickMs()),
    send(name, args) {
      const command = new Command(name, [...args], { replyEncoding: 'utf8' })
      command.setTimeout(NO_TIMEOUT_MS) // replaces the deadline of the connection
      return redis.sendCommand(command) as Promise<unknown>
    },
    close: () => redis.disconnect(),
  }
}
