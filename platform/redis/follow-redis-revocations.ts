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

/** Who is told, and from where on. */
export type FollowOptions = {
  readonly url: string
  /** True: everything that the stream holds is told first. False: only what comes. */
  readonly fromStart: boolean
  /** Oldest first; one that was told before may be told again. */
  readonly onEntries: (entries: readonly RevocationEntry[], runId: string | undefined) => void
  /** Entries may have been missed: those before the first connection, too. */
  readonly onMissed: () => void
  /** Called whenever Redis has answered and everything was told: every second, and after revocations. */
  readonly onAlive?: (redis: Redis) => Promise<void>
  /** Called when the connection is of no use, with the reason. */
  readonly onLost?: (reason: string) => void
  readonly logger?: Pick<Logger, 'warn' | 'info'>
}

/** Ends with {@link close}, which resolves when its connection is gone. */
export type RedisFollower = { close(): Promise<void> }

/** Redis answers at least this often; the connection is known to be alive then. Milliseconds. */
const WAIT_MS = 1_000
/** An answer that takes longer is none. Milliseconds. */
const COMMAND_TIMEOUT_MS = 2_500
/** At most one attempt a second. Milliseconds. */
const RETRY_MS = 1_000
const MOST_AT_ONCE = 1_000

/**
 * Reads the stream of revocations on a connection of its own, for ever. After an interruption it goes on where it was; when
 * that is not certain to be gapless (the entry is gone, or another server process answers) it says so and begins anew.
 * @throws {BootError} as connectRedis with `mayBeAway`.
 */
export async function followRedisRevocations(options: FollowOptions): Promise<RedisFollower> {
  const redis = await connectRedis({
    url: options.url,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    mayBeAway: true,
    ...(options.logger === undefined ? {} : { logger: options.logger }),
  })
  const closing = new AbortController()
  let place: { readonly runId: string | undefined; id: string } | undefined

  const isThere = async (id: string): Promise<boolean> => id === STREAM_START || hasEntry(redis, id)

  async function begin(): Promise<{ readonly runId: string | undefined; id: string }> {
    const runId = await readRunId(redis)
    const isSame = place !== undefined && runId !== undefined && place.runId === runId
    if (place !== undefined && isSame && (await isThere(place.id))) return place
    const fresh = { runId, id: options.fromStart ? STREAM_START : await readLastId(redis) }
    options.onMissed()
    return fresh
  }

  async function follow(): Promise<never> {
    place = await begin()
    for (let isBehind = true; ; ) {
      if (!isBehind) await options.onAlive?.(redis)
      const entries: readonly RevocationEntry[] = isBehind
        ? await readEntriesAfter(redis, place.id, MOST_AT_ONCE)
        : await awaitEntriesAfter(redis, place.id, { count: MOST_AT_ONCE, waitMs: WAIT_MS })
      // Who reads more slowly than others write may be overtaken by the end of the stream.
      if (isBehind && entries.length > 0 && !(await isThere(place.id))) options.onMissed()
      isBehind = entries.length === MOST_AT_ONCE
      const last = entries.at(-1)
      if (last === undefined) {
        // Nothing came; nothing would, were the stream away, or begun anew by a clock that is behind.
        if (!(await isThere(place.id))) place = await begin()
        continue
      }
      options.onEntries(entries, place.runId)
      place.id = last.id
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
