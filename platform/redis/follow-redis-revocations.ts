import { followPartitions } from './follow-partitions.ts'
import { createFollower, type FollowOptions, type RedisFollower } from './follower.ts'
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

/** Maximum time that Redis blocks before it responds. The response shows that the connection is alive. Milliseconds. */
const WAIT_MS = 1_000
/** A command without a response fails after this time. Milliseconds. */
const COMMAND_TIMEOUT_MS = 2_500
const MAX_BATCH = 1_000

/**
 * Reads the revocation stream on a separate connection until the follower is closed. After an interruption, the
 * follower continues at the last read entry. A gap is possible if that entry no longer exists, or if another server
 * process responds. The follower then calls `onGap` and starts again.
 * @throws {BootError} the errors of openRedis() with `mayBeAway`.
 */
export async function followRedisRevocations(options: FollowOptions): Promise<RedisFollower> {
  if (options.cluster !== undefined) return followPartitions(options)
  const redis = await connectRedis({ ...options, commandTimeoutMs: COMMAND_TIMEOUT_MS, mayBeAway: true })
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
      // If other processes write faster than this process reads, Redis can trim unread entries.
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

  return createFollower({ redis, follow, onLost: options.onLost })
}
