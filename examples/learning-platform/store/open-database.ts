import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { CollectionFamily, Family } from '../families/family.ts'
import { StartError } from '../start-error.ts'
import { inTransaction } from './in-transaction.ts'

/** PRAGMA application_id of the files of this service. The ID prevents writes to files of other programs. */
const APPLICATION_ID = 0x4c_50_4c_31

/** PRAGMA user_version of the tables below. When you raise the version, add a migration of older files. */
const SCHEMA_VERSION = 1

/**
 * Opens the database, creates its tables, and fills a new database with `seed`. If two processes open a new file
 * concurrently, the second process waits and finds the seeded file.
 * @throws {StartError} ERR_DATABASE if the file or its folder is not usable.
 */
export function openDatabase(
  path: string,
  families: readonly Family[],
  seed: (database: DatabaseSync) => void,
): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    makeFolder(dirname(path))
    database = new DatabaseSync(path, { timeout: 5000 })
    database.exec('PRAGMA journal_mode = WAL')
    prepare(database, path, families, seed)
    return database
  } catch (cause) {
    database?.close()
    if (cause instanceof StartError) throw cause
    throw new StartError(
      'ERR_DATABASE',
      `The database ${path} cannot be used (${reason(cause)}): ` +
        'check that its folder exists and is writable, or name another file in LEARNING_PLATFORM_DATABASE.',
      { cause },
    )
  }
}

/** Creates folders level by level. The recursive `mkdir()` of Node.js never returns below paths such as `/proc`. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (cause) {
    if (existsSync(folder)) return // another process created the folder first
    throw new StartError(
      'ERR_DATABASE',
      `Cannot create the folder ${folder} (${reason(cause)}): name another file in LEARNING_PLATFORM_DATABASE.`,
      { cause },
    )
  }
}

function prepare(
  database: DatabaseSync,
  path: string,
  families: readonly Family[],
  seed: (database: DatabaseSync) => void,
): void {
  inTransaction(database, () => {
    const version = readNumber(database, 'PRAGMA user_version', 'user_version')
    const tables = readNumber(database, 'SELECT count(*) AS n FROM sqlite_schema', 'n')
    const owner = readNumber(database, 'PRAGMA application_id', 'application_id')
    if (tables > 0 && owner !== APPLICATION_ID)
      throw new StartError(
        'ERR_DATABASE',
        `The database ${path} belongs to another application: name another file in LEARNING_PLATFORM_DATABASE.`,
      )
    if (version > SCHEMA_VERSION)
      throw new StartError(
        'ERR_DATABASE',
        `The database ${path} was written by a newer release: start that release, or name another file in LEARNING_PLATFORM_DATABASE.`,
      )
    for (const family of families) if (family.kind === 'collection') createTable(database, family)
    if (version === SCHEMA_VERSION) return
    database.exec(`
      CREATE TABLE singletons (
        name TEXT NOT NULL, owner TEXT NOT NULL, body TEXT NOT NULL CHECK (json_valid(body)),
        updated_by TEXT NOT NULL, updated_at TEXT NOT NULL,
        PRIMARY KEY (name, owner)
      ) WITHOUT ROWID, STRICT;
      CREATE TABLE links (
        source TEXT NOT NULL, source_id TEXT NOT NULL, target TEXT NOT NULL, target_id TEXT NOT NULL,
        PRIMARY KEY (source, source_id, target, target_id)
      ) WITHOUT ROWID, STRICT;
      CREATE INDEX links_by_target ON links (target, target_id);
      PRAGMA application_id = ${APPLICATION_ID};
      PRAGMA user_version = ${SCHEMA_VERSION};`)
    seed(database)
  })
}

/**
 * Creates the table of a family. Names and fields come from the family's file, never from a request. AUTOINCREMENT
 * prevents the reuse of IDs.
 */
function createTable(database: DatabaseSync, family: CollectionFamily): void {
  database.exec(`
    CREATE TABLE IF NOT EXISTS ${family.name} (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT GENERATED ALWAYS AS (format('${family.idPrefix}_%04d', number)) VIRTUAL UNIQUE,
      body TEXT NOT NULL CHECK (json_valid(body)),
      created_by TEXT NOT NULL, created_at TEXT NOT NULL, updated_by TEXT NOT NULL, updated_at TEXT NOT NULL
    ) STRICT;`)
  for (const field of family.unique ?? [])
    database.exec(
      `CREATE UNIQUE INDEX IF NOT EXISTS ${family.name}_by_${field} ON ${family.name} (body ->> '$.${field}')`,
    )
}

function readNumber(database: DatabaseSync, sql: string, column: string): number {
  return Number(database.prepare(sql).get()?.[column])
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
