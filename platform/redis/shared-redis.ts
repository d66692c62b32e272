import { CircuitBreaker } from '../circuit-breaker.ts'
import type { Logger } from '../logging/logger.ts'
import { openRedis } from './redis.ts'
import type { ConnectOptions, RedisClient } from './redis-client.ts'

/** Reason for not using Redis. The reason is a metric label, so the set of values is fixed. */
export type UnavailableReason = 'away' | 'open'

/**
 * The connection of a process to a Redis that all gateways share. Each use has a fallback. All uses except `send()`
 * share the circuit breaker.
 */
export type SharedRedis = {
  readonly redis: RedisClient
  /** Undefined: use Redis, and report the outcome. Otherwise use the fallback without waiting. */
  unavailableReason(): UnavailableReason | undefined
  succeeded(): void
  failed(): void
  /** Description of the reason for not using Redis. Undefined while Redis is in use. */
  readonly problem: string | undefined
  /**
   * Sends a command without the default deadline, for callers with a longer deadline. Rejects when the connection
   * closes, or when Redis sends nothing for 2 s.
   */
  send(name: string, args: readonly (string | number)[]): Promise<unknown>
  close(): void
}

const COMMAND_TIMEOUT_MS = 75
const CIRCUIT_RULES = { failures: 5, longestPauseMs: 1_000 }
/** Start time for failures without a known start. A failure with this start time always counts. */
const UNKNOWN_START_MS = Number.POSITIVE_INFINITY
const PROBLEMS: Readonly<Record<UnavailableReason, string>> = {
  away: 'no connection to Redis: each gateway counts, caches and introspects separately',
  open: 'Redis fails or does not respond in time: each gateway counts, caches and introspects separately',
}
/** A timeout without effect: a connection without data closes earlier. Milliseconds. */
const NO_TIMEOUT_MS = 60_000

/**
 * Connects to Redis. The gateway also starts without Redis, and connects when Redis is available.
 * @throws {BootError} the errors of openRedis() with `mayBeAway`, because a setting is wrong.
 */
export async function openSharedRedis(
  options: Omit<ConnectOptions, 'mayBeAway'> & {
    readonly logger: Logger
    /** A monotonic clock, in milliseconds. */
    readonly tickMs: () => number
    /** Longest wait for a response. Default: 75. Milliseconds. */
    readonly commandTimeoutMs?: number
  },
): Promise<SharedRedis> {
  const { logger, tickMs, commandTimeoutMs = COMMAND_TIMEOUT_MS } = options
  const redis = await openRedis({ ...options, commandTimeoutMs, mayBeAway: true })
  const { Command } = await import('ioredis')
  const circuit = new CircuitBreaker(CIRCUIT_RULES, (isClosed) =>
    isClosed
      ? logger.info({ event: 'redis_used_again' }, 'redis responds again')
      : logger.warn({ event: 'redis_given_up' }, `redis: ${PROBLEMS.open}`),
  )
  const succeeded = (): void => circuit.succeeded(0)
  const failed = (): void => void circuit.failed(UNKNOWN_START_MS, tickMs())

  function unavailableReason(): UnavailableReason | undefined {
    if (redis.status !== 'ready') return 'away'
    if (circuit.state === 'closed') return undefined
    const nowMs = tickMs()
    if (circuit.rejectsForMs(nowMs) === undefined) {
      circuit.started(nowMs)
      redis.ping().then(succeeded, failed)
    }
    return 'open'
  }

  return {
    redis,
    unavailableReason,
    get problem() {
      const reason = unavailableReason()
      return reason && PROBLEMS[reason]
    },
    succeeded,
    failed,
    send(name, args) {
      const command = new Command(name, [...args], { replyEncoding: 'utf8' })
      command.setTimeout(NO_TIMEOUT_MS) // replaces the deadline of the connection
      return redis.sendCommand(command) as Promise<unknown>
    },
    close: () => redis.disconnect(),
  }
}
