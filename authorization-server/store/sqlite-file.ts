import { chmodSync, closeSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { makeFolder } from '../../platform/process/make-folder.ts'
import { migrate, SCHEMA_VERSION } from './sqlite-schema.ts'

/** Maximum wait for a lock. No Scopegate process holds the write lock for so long. Milliseconds. */
export const BUSY_TIMEOUT_MS = 5_000
const QUICK_CHECK_LIMIT_BYTES = 64 * 1024 * 1024 // above this size, a full check would delay the start by seconds
const OWNER_ONLY_FILE = 0o600

/**
 * Opens and migrates the database file. Creates the folder (0700) and the file (0600) if they are missing, and removes
 * the access of other users to the file.
 * WAL with synchronous=FULL: an acknowledged write survives a power failure.
 * @throws {BootError} ERR_DATA_DIR_UNUSABLE, ERR_STORE_DAMAGED, ERR_STORE_TOO_NEW, ERR_STORE_LOCKED,
 * ERR_STORE_UNUSABLE.
 */
export function openSqliteFile(file: string): DatabaseSync {
  prepareFile(file)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
    database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on')
    if (statSync(file).size <= QUICK_CHECK_LIMIT_BYTES) quickCheck(database, file)
    const found = migrate(database)
    if (found > SCHEMA_VERSION) throw tooNew(file, found)
    return database
  } catch (error) {
    database?.close()
    throw error instanceof BootError ? error : explain(file, error)
  }
}

/** Sets the maximum time that a statement waits for a lock of another process. Milliseconds. */
export function setBusyTimeout(database: DatabaseSync, timeoutMs: number): void {
  database.exec(`pragma busy_timeout = ${timeoutMs}`)
}

function prepareFile(file: string): void {
  const folder = dirname(file)
  try {
    makeFolder(folder)
    // SQLite creates its -wal and -shm files with the mode of the main file.
    closeSync(openSync(file, 'a', OWNER_ONLY_FILE))
  } catch (cause) {
    throw new BootError(
      'ERR_DATA_DIR_UNUSABLE',
      `The data folder ${folder} cannot be written (${codeOf(cause)} at ${file}). ` +
        'Give the user that runs this process write access to this folder, or name another folder with dataDir (SCOPEGATE_DATA_DIR).',
      { cause },
    )
  }
  if ((statSync(file).mode & 0o077) !== 0) tryToNarrow(file)
}

function tryToNarrow(file: string): void {
  try {
    chmodSync(file, OWNER_ONLY_FILE)
  } catch {
    // Only the owner of the file can change its mode. Another user owns the file, for example on a volume that is
    // mounted with a group.
  }
}

function quickCheck(database: DatabaseSync, file: string): void {
  const result = database.prepare('pragma quick_check(1)').get()?.['quick_check']
  if (result !== 'ok') throw damaged(file, result)
}

function explain(file: string, cause: unknown): BootError {
  const result = (cause as { errcode?: number }).errcode ?? 0
  const reason = cause instanceof Error ? cause.message : String(cause)
  switch (result & 0xff) {
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return damaged(file, cause)
    case 5: // SQLITE_BUSY
      return new BootError(
        'ERR_STORE_LOCKED',
        `The database ${file} stayed locked for ${BUSY_TIMEOUT_MS} ms. Stop the program that holds the lock (a backup, a database shell) and start again.`,
        { cause },
      )
    case 8: // SQLITE_READONLY
    case 14: // SQLITE_CANTOPEN
      return new BootError(
        'ERR_DATA_DIR_UNUSABLE',
        `The database ${file} cannot be written (${reason}). Give the user that runs this process write access to the file and its folder, or name another folder with dataDir (SCOPEGATE_DATA_DIR).`,
        { cause },
      )
    default:
      return new BootError(
        'ERR_STORE_UNUSABLE',
        `The database ${file} cannot be used (${reason}). Check the disk and its free space.`,
        { cause },
      )
  }
}

function damaged(file: string, cause: unknown): BootError {
  return new BootError(
    'ERR_STORE_DAMAGED',
    `${file} is damaged or not a SQLite database. Restore the file from a backup. To start with an empty database, without the stored clients, accounts and sign-ins, move this file, ${file}-wal and ${file}-shm to another folder.`,
    { cause },
  )
}

function tooNew(file: string, found: number): BootError {
  return new BootError(
    'ERR_STORE_TOO_NEW',
    `${file} has schema version ${found}; this program supports versions up to ${SCHEMA_VERSION}. Start the newer Scopegate that wrote it, or restore a backup from before the upgrade.`,
  )
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
