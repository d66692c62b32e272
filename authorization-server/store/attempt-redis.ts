import { StoreError } from './store-error.ts'

/**
 * Runs one piece of Redis work and names its failure.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: no connection, no answer in time, refused. A write may have happened.
 */
export async function attemptRedis<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new StoreError('ERR_STORE_UNAVAILABLE', 'The Redis store failed.', { cause })
  }
}
