import { StoreError } from './store-error.ts'

/**
 * Runs one piece of SQLite work and names its failure.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: locked for too long, disk full, closed.
 */
export function attemptSqlite<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new StoreError('ERR_STORE_UNAVAILABLE', 'The SQLite store failed.', { cause })
  }
}
