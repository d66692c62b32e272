import { isReplyError } from '../../platform/redis/is-reply-error.ts'
import { StoreError, type StoreErrorReason } from './store-error.ts'

/**
 * Runs one operation on Redis and names its failure.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: no connection, no answer in time, rejected. A write may have happened.
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

/** The first word of a Redis error is its code. Redis 6 puts it behind `ERR` when a script fails. */
function reasonOf(cause: unknown): StoreErrorReason {
  if (!isReplyError(cause)) return 'away'
  const { message } = cause as Error
  if (message.includes('READONLY')) return 'read_only'
  return message.includes('OOM') ? 'full' : 'failed'
}
