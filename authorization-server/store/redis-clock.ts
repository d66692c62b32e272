import type { Redis } from 'ioredis'
import { attemptRedis } from './attempt-redis.ts'

/**
 * Reads the clock that all servers on the store share, in seconds since the epoch.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function readRedisClock(redis: Redis): Promise<number> {
  return attemptRedis(async () => Number((await redis.time())[0]))
}

/**
 * Compares the clock of this process with the clock of Redis. Precision: one round trip.
 * @returns the seconds by which this process is ahead; negative when it is behind.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function readClockDifference(redis: Redis): Promise<number> {
  const sentMs = Date.now()
  const [seconds, microseconds] = await attemptRedis(() => redis.time())
  const middleMs = (sentMs + Date.now()) / 2
  return middleMs / 1_000 - (Number(seconds) + Number(microseconds) / 1_000_000)
}
