import { isReplyError } from '../../platform/redis/is-reply-error.ts'
import { StoreError, type StoreErrorReason } from './store-error.ts'

/**
 * Runs one operation on Redis and classifies its failure.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: no connection, timeout, or command rejected. A write may have happened.
 */
export async function attemptRedis<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new StoreError('ERR_STORE_UNAVAILABLE', 'The Redis store failed.', {
      cause,
      reason: reasonOf(cause),
    })
  }
}

/**
 * Returns the reason for a failure. A Redis error starts with its code. Redis 6 puts the code after `ERR` when a script
 * fails.
 */
function reasonOf(cause: unknown): StoreErrorReason {
  if (!isReplyError(cause)) return 'away'
  const { message } = cause as Error
  if (message.includes('READONLY')) return 'read_only'
  return message.includes('OOM') ? 'full' : 'failed'
}
