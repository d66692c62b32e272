import type { DatabaseSync } from 'node:sqlite'
import { attemptSqlite } from './attempt-sqlite.ts'

/**
 * Runs the work in one transaction. Either all of it is on the disk, or nothing.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
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
