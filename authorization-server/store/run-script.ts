import { hash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { attemptRedis } from './attempt-redis.ts'

/**
 * Runs a Lua script atomically, by its hash when Redis has it cached.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function runScript(
  redis: Redis,
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  return attemptRedis(async () => {
    try {
      return await redis.evalsha(hash('sha1', script), keys.length, ...keys, ...args)
    } catch (error) {
      // After a restart or SCRIPT FLUSH, the script is not cached and did not run.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return redis.eval(script, keys.length, ...keys, ...args)
    }
  })
}
