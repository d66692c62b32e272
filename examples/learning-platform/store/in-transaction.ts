import type { DatabaseSync } from 'node:sqlite'

/**
 * Does the work in one transaction that no other writer interrupts: all of it stays, or nothing.
 * @throws what `work` throws, after rolling back; the SQLite error when another process holds the file for too long.
 */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}
