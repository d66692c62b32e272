import { setTimeout as pause } from 'node:timers/promises'
import type { RevocationEntry } from './read-redis-revocations.ts'
import type { ConnectOptions, RedisClient } from './redis-client.ts'

export type FollowOptions = Omit<ConnectOptions, 'commandTimeoutMs' | 'mayBeAway'> & {
  /** True: delivers all existing entries first. False: delivers new entries only. */
  readonly fromStart: boolean
  /** Receives entries, oldest first. An entry can arrive more than once. */
  readonly onEntries: (entries: readonly RevocationEntry[], runId: string | undefined) => void
  /** Called for each possible gap in the entries, including the time before the first connection. */
  readonly onGap: () => void
  /** Called when Redis has responded and all entries are delivered: every second, and after revocations. */
  readonly onAlive?: (redis: RedisClient) => Promise<void>
  /** Called when the connection fails, with the reason. */
  readonly onLost?: (reason: string) => void
}

/** {@link close} resolves when the connection of the follower is closed. */
export type RedisFollower = { close(): Promise<void> }

/** Pause after a failure, before the next attempt. Milliseconds. */
const RETRY_MS = 1_000

/** Runs `follow` again after each failure, until the follower is closed. */
export function createFollower(options: {
  readonly redis: Pick<RedisClient, 'disconnect'>
  /** Reads entries until a failure. `signal` aborts when the follower is closed. */
  readonly follow: (signal: AbortSignal) => Promise<never>
  readonly onLost: ((reason: string) => void) | undefined
}): RedisFollower {
  const { redis, follow, onLost } = options
  const closing = new AbortController()

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await follow(closing.signal)
      } catch (error) {
        if (closing.signal.aborted) return
        onLost?.(error instanceof Error ? error.message : 'unknown')
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
