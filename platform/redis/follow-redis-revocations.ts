import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from '../logging/logger.ts'
import {
  awaitEntriesAfter,
  hasEntry,
  type RevocationEntry,
  readEntriesAfter,
  readLastId,
  readRunId,
  STREAM_START,
} from './read-redis-revocations.ts'
import { connectRedis } from './redis.ts'

export type FollowOptions = {
  readonly url: string
  /** True: delivers all existing entries first. False: delivers new entries only. */
  readonly fromStart: boolean
  /** Receives entries, oldest first. An entry can arrive more than once. */
  readonly onEntries: (entries: readonly RevocationEntry[], runId: string | undefined) => void
  /** Called for each possible gap in the entries, including the time before the first connection. */
  readonly onGap: () => void
  /** Called when Redis has responded and all entries are delivered: every second, and after revocations. */
  readonly onAlive?: (redis: Redis) => Promise<void>
  /** Called when the connection fails, with the reason. */
  readonly onLost?: (reason: string) => void
  readonly logger?: Pick<Logger, 'warn' | 'info'>
}

/** {@link close} resolves when its connection is closed. */
export type RedisFollower = { close(): Promise<void> }

/** Longest time that Redis blocks before it responds, which shows that the connection is alive. Milliseconds. */
const WAIT_MS = 1_000
/** A command without a response fails after this time. Milliseconds. */
const COMMAND_TIMEOUT_MS = 2_500
/** At most one attempt per second. Milliseconds. */
const RETRY_MS = 1_000
const MAX_BATCH = 1_000

/**
 * Reads the revocation stream on its own connection until it is closed. After an interruption, it continues at the last
 * entry. If that entry is gone, or another server process responds, a gap is possible. In both cases, the function
 * calls `onGap` and starts again.
 * @throws {BootError} like connectRedis with `mayBeAway`.
 */
export async function followRedisRevocations(options: FollowOptions): Promise<RedisFollower> {
  const redis = await connectRedis({
    url: options.url,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    mayBeAway: true,
    ...(options.logger === undefined ? {} : { logger: options.logger }),
  })
  const closing = new AbortController()
  let position: { readonly runId: string | undefined; id: string } | undefined

  const isThere = async (id: string): Promise<boolean> => id === STREAM_START || hasEntry(redis, id)

  async function begin(): Promise<{ readonly runId: string | undefined; id: string }> {
    const runId = await readRunId(redis)
    const isSame = position !== undefined && runId !== undefined && position.runId === runId
    if (position !== undefined && isSame && (await isThere(position.id))) return position
    const fresh = { runId, id: options.fromStart ? STREAM_START : await readLastId(redis) }
    options.onGap()
    return fresh
  }

  async function follow(): Promise<never> {
    position = await begin()
    for (let isBehind = true; ; ) {
      if (!isBehind) await options.onAlive?.(redis)
      const entries: readonly RevocationEntry[] = isBehind
        ? await readEntriesAfter(redis, position.id, MAX_BATCH)
        : await awaitEntriesAfter(redis, position.id, { count: MAX_BATCH, waitMs: WAIT_MS })
      // If other processes write faster than this one reads, Redis can trim unread entries.
      if (isBehind && entries.length > 0 && !(await isThere(position.id))) options.onGap()
      isBehind = entries.length === MAX_BATCH
      const last = entries.at(-1)
      if (last === undefined) {
        // No entries arrive if the stream was deleted, or was created again with a clock that is behind.
        if (!(await isThere(position.id))) position = await begin()
        continue
      }
      options.onEntries(entries, position.runId)
      position.id = last.id
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await follow()
      } catch (error) {
        if (closing.signal.aborted) return
        options.onLost?.(error instanceof Error ? error.message : 'unknown')
      }
      await pause(RETRY_MS, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  const running = run()
  return {
    async close() {
      closing.abort()
      redis.disconnect()
      await running
    },
  }
}
