import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { transact } from '../../../authorization-server/store/sqlite.ts'
import { openSqliteFile, setBusyTimeout } from '../../../authorization-server/store/sqlite-file.ts'
import { migrate, SCHEMA_VERSION } from '../../../authorization-server/store/sqlite-schema.ts'

const OBJECTS = [
  'table accounts',
  'table address_counts',
  'index address_counts_by_held',
  'table artifact_counts',
  'index artifact_counts_by_held',
  'table artifacts',
  'index artifacts_by_account',
  'index artifacts_by_address',
  'index artifacts_by_expiry',
  'index artifacts_by_grant',
  'index artifacts_by_source',
  'index artifacts_by_uid',
  'index artifacts_by_user_code',
  'table attempt_counters',
  'index bounded_artifacts_by_expiry',
  'trigger count_artifact_of_address',
  'trigger count_bounded_artifact',
  'table revocation_epoch',
  'table revocations',
  'index sqlite_autoindex_accounts_1',
  'index sqlite_autoindex_accounts_2',
  'index sqlite_autoindex_accounts_3',
  'index sqlite_autoindex_artifacts_1',
  'index sqlite_autoindex_attempt_counters_1',
  'table sqlite_sequence',
  'trigger uncount_artifact_of_address',
  'trigger uncount_bounded_artifact',
]

t.test(
  'a new file has exactly the expected schema, because existing files depend on each migration',
  async (t) => {
    const database = new DatabaseSync(':memory:')
    t.teardown(() => database.close())
    t.equal(migrate(database), 0)
    t.equal(SCHEMA_VERSION, 8)
    t.equal(database.prepare('pragma user_version').get()?.['user_version'], 8)
    t.equal(migrate(database), 8, 'the second migration changes nothing')
    const objects = database.prepare('select type, name, sql from sqlite_schema order by name').all()
    t.same(
      objects.map(({ type, name }) => `${type} ${name}`),
      OBJECTS,
    )
    const text = objects.map(({ sql }) => String(sql).replace(/\s+/g, ' ')).join('\n')
    t.equal(hash('sha256', text, 'base64url'), 'OicQiP4TbFx6hEBP7C5fx6JkI4SpaukRZ3ab6WleUaU', text)
    const epoch = database.prepare('select epoch from revocation_epoch').all()
    t.match(epoch, [{ epoch: /^[0-9a-f]{16}$/ }])
    t.equal(epoch.length, 1)
  },
)

t.test('a failed migration leaves the file unchanged', async (t) => {
  const file = join(t.testdir(), 'x.sqlite')
  const other = new DatabaseSync(file)
  other.exec('create table accounts (x)')
  t.throws(() => migrate(other), { message: 'table accounts already exists' })
  t.equal(other.isTransaction, false)
  t.same(other.prepare('select name from sqlite_schema').all(), [{ name: 'accounts' }])
  t.equal(other.prepare('pragma user_version').get()?.['user_version'], 0)
  other.close()
  t.throws(() => openSqliteFile(file), {
    name: 'BootError',
    code: 'ERR_STORE_UNUSABLE',
    exitCode: 1,
    message: `The database ${file} cannot be used (table accounts already exists). Check the disk and its free space.`,
    cause: { message: 'table accounts already exists' },
  })
})

t.test('openSqliteFile() explains each failure', async (t) => {
  const folder = t.testdir({ plain: 'a file' })
  const file = join(folder, 'x.sqlite')
  openSqliteFile(file).close()
  mkdirSync(`${file}-wal`)
  t.throws(() => openSqliteFile(file), {
    code: 'ERR_DATA_DIR_UNUSABLE',
    exitCode: 1,
    message: `The database ${file} cannot be written (unable to open database file). Give the user that runs this process write access to the file and its folder, or name another folder with dataDir (SCOPEGATE_DATA_DIR).`,
  })
  const below = join(folder, 'plain', 'y.sqlite')
  t.throws(() => openSqliteFile(below), {
    code: 'ERR_DATA_DIR_UNUSABLE',
    exitCode: 1,
    message: `The data folder ${folder}/plain cannot be written (ENOTDIR at ${below}). Give the user that runs this process write access to this folder, or name another folder with dataDir (SCOPEGATE_DATA_DIR).`,
    cause: { code: 'ENOTDIR' },
  })
  const notes = join(folder, 'notes.sqlite')
  writeFileSync(notes, 'These are my notes. '.repeat(500))
  t.throws(() => openSqliteFile(notes), {
    code: 'ERR_STORE_DAMAGED',
    exitCode: 1,
    message: `${notes} is damaged or not a SQLite database. Restore the file from a backup. To start with an empty database, without the stored clients, accounts and sign-ins, move this file, ${notes}-wal and ${notes}-shm to another folder.`,
  })
  const newer = join(folder, 'newer.sqlite')
  const database = openSqliteFile(newer)
  database.exec('pragma user_version = 9')
  database.close()
  t.throws(() => openSqliteFile(newer), {
    code: 'ERR_STORE_TOO_NEW',
    exitCode: 1,
    message: `${newer} has schema version 9; this program supports versions up to 8. Start the newer Scopegate that wrote it, or restore a backup from before the upgrade.`,
  })
})

t.test('openSqliteFile() checks the pages of a file of up to 64 MiB', async (t) => {
  const file = join(t.testdir(), 'damaged.sqlite')
  openSqliteFile(file).close()
  const bytes = readFileSync(file)
  bytes.fill(0xa5, 4_096, 4_096 * 3)
  writeFileSync(file, bytes)
  truncateSync(file, 67_108_864)
  t.throws(() => openSqliteFile(file), { code: 'ERR_STORE_DAMAGED' })
  truncateSync(file, 67_108_865)
  openSqliteFile(file).close()
})

t.test('openSqliteFile() waits 5 s for a lock', async (t) => {
  const database = openSqliteFile(join(t.testdir(), 'x.sqlite'))
  t.teardown(() => database.close())
  const read = (name: string) => Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0]
  t.strictSame([read('busy_timeout'), read('foreign_keys')], [5_000, 1])
  setBusyTimeout(database, 70)
  t.equal(read('busy_timeout'), 70)
})

t.test('transact() writes either all changes or no change, and leaves no open transaction', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  database.exec('create table x (y)')
  const count = () => database.prepare('select count(*) as n from x').get()?.['n']
  const cause = new Error('a failure')
  const fails = () =>
    transact(database, () => {
      database.exec('insert into x values (1)')
      throw cause
    })
  t.throws(fails, { code: 'ERR_STORE_UNAVAILABLE', reason: 'failed', cause })
  t.strictSame([count(), database.isTransaction], [0, false])
  transact(database, () => database.exec('insert into x values (1)'))
  t.strictSame([count(), database.isTransaction], [1, false])
  const ended = () =>
    transact(database, () => {
      database.exec('rollback')
      throw cause
    })
  t.throws(ended, { cause })
})
