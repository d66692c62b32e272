import type { DatabaseSync } from 'node:sqlite'
import { StoreError, type StoreErrorReason } from './store.ts'

/**
 * Runs one operation on SQLite and classifies its failure.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: lock timeout, disk full, database closed. ERR_STORE_DAMAGED.
 */
export function attemptSqlite<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const reason = reasonOf(cause)
    const code = reason === 'damaged' ? 'ERR_STORE_DAMAGED' : 'ERR_STORE_UNAVAILABLE'
    throw new StoreError(code, 'The SQLite store failed.', { cause, reason })
  }
}

/**
 * Reasons by primary result code, which is the low byte of an extended result code. Source:
 * https://sqlite.org/rescode.html.
 */
const REASONS: Readonly<Record<number, StoreErrorReason>> = {
  5: 'locked', // SQLITE_BUSY
  6: 'locked', // SQLITE_LOCKED
  8: 'read_only', // SQLITE_READONLY
  11: 'damaged', // SQLITE_CORRUPT
  13: 'full', // SQLITE_FULL
  26: 'damaged', // SQLITE_NOTADB
}

function reasonOf(cause: unknown): StoreErrorReason {
  const { errcode = 0 } = cause as { readonly errcode?: number }
  return REASONS[errcode & 0xff] ?? 'failed'
}

/**
 * Runs the work in one transaction. After an error, the file is unchanged.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE, ERR_STORE_DAMAGED.
 */
export function transact(database: DatabaseSync, work: () => void): void {
  attemptSqlite(() => {
    database.exec('begin immediate')
    try {
      work()
      database.exec('commit')
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  })
}
