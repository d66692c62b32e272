import type { DatabaseSync } from 'node:sqlite'

/**
 * Runs `work` in one transaction with exclusive write access.
 * @throws the error of `work`, after a rollback. Also throws the SQLite error when another process locks the file for
 * too long.
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
