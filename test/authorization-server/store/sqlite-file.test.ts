import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { openSqliteFile } from '../../../authorization-server/store/sqlite-file.ts'
import { SCHEMA_VERSION } from '../../../authorization-server/store/sqlite-schema.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { inUnwritableFolder } from '../../fixtures/in-unwritable-folder.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

t.test('openSqliteFile() rejects a file that is not a database, and does not change it', async (t) => {
  const file = join(t.testdir(), 'notes.sqlite')
  const content = 'These are my notes. '.repeat(500)
  writeFileSync(file, content)
  rejected(
    t,
    file,
    'ERR_STORE_DAMAGED',
    /notes\.sqlite is damaged or not a SQLite database\. Restore the file/,
  )
  t.equal(readFileSync(file, 'utf8'), content)
})

t.test('openSqliteFile() rejects a database with an overwritten page', async (t) => {
  const file = join(t.testdir(), 'damaged.sqlite')
  openSqliteFile(file).close()
  const bytes = readFileSync(file)
  bytes.fill(0xa5, 4096, 4096 * 3)
  writeFileSync(file, bytes)
  rejected(t, file, 'ERR_STORE_DAMAGED', /Restore the file from a backup/)
})

t.test('openSqliteFile() rejects a newer schema and does not change the file', async (t) => {
  const file = join(t.testdir(), 'newer.sqlite')
  const database = openSqliteFile(file)
  database.exec('pragma user_version = 99')
  database.close()
  rejected(
    t,
    file,
    'ERR_STORE_TOO_NEW',
    new RegExp(`schema version 99; this program supports versions up to ${SCHEMA_VERSION}`),
  )
  t.strictSame(
    openFiles().filter((path) => path.startsWith(file)),
    [],
    'the file is closed',
  )
  const again = new DatabaseSync(file)
  t.equal(again.prepare('pragma user_version').get()?.['user_version'], 99)
  again.close()
})

t.test('openSqliteFile() migrates a file of version 1 and its content', async (t) => {
  const file = join(t.testdir(), 'older.sqlite')
  const first = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  await first.artifacts('Grant').upsert('g', { jti: 'g' }, 60)
  await first.close()
  const older = new DatabaseSync(file)
  older.exec(`drop table attempt_counters; drop table revocations; drop table revocation_epoch;
    drop trigger count_bounded_artifact; drop trigger uncount_bounded_artifact; drop table artifact_counts;
    drop trigger count_artifact_of_address; drop trigger uncount_artifact_of_address; drop table address_counts;
    drop index artifacts_by_source; drop index artifacts_by_address; drop index bounded_artifacts_by_expiry;
    alter table artifacts drop column source; alter table artifacts drop column address;
    pragma user_version = 1`)
  older.close()
  const store = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  t.teardown(() => store.close())
  t.ok(await store.artifacts('Grant').find('g'))
  const from = await store.revocations.lastId()
  await store.artifacts('Grant').revokeByGrantId('g')
  t.equal((await store.revocations.readAfter(from, 10))?.length, 1)
  const pending = store.artifacts('Interaction')
  const source = { address: 'one', network: 'one' }
  for (const id of ['one', 'two'])
    await pending.upsertBounded(id, { jti: id }, 60, { source, bound: { perAddress: 1, total: 1 } })
  t.equal(await pending.find('one'), undefined)
  t.ok(await pending.find('two'))
})

t.test('openSqliteFile() counts the artifacts of each address in a file of version 4', async (t) => {
  const file = join(t.testdir(), 'version-4.sqlite')
  const open = () => openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  const admit = (store: Store, id: string, address: string) =>
    store.artifacts('Interaction').upsertBounded(id, { jti: id }, 60, {
      source: { address, network: 'one network' },
      bound: { perAddress: 4, total: 4 },
    })
  const first = open()
  await admit(first, 'neighbour', 'small address')
  for (const id of ['1', '2', '3']) await admit(first, id, 'large address')
  await first.close()
  const older = new DatabaseSync(file)
  older.exec(`drop trigger count_artifact_of_address; drop trigger uncount_artifact_of_address;
    drop table address_counts; drop table attempt_counters; pragma user_version = 4`)
  older.close()
  const store = open()
  t.teardown(() => store.close())
  await admit(store, '4', 'large address')
  t.equal(await store.artifacts('Interaction').find('1'), undefined)
  t.ok(await store.artifacts('Interaction').find('neighbour'))
})

t.test(
  'openSqliteFile() rejects a file in place of the folder, and a folder in place of the file',
  async (t) => {
    const folder = t.testdir({ plain: 'a file' })
    rejected(t, join(folder, 'plain', 'x.sqlite'), 'ERR_DATA_DIR_UNUSABLE', /SCOPEGATE_DATA_DIR/)
    mkdirSync(join(folder, 'x.sqlite'))
    rejected(t, join(folder, 'x.sqlite'), 'ERR_DATA_DIR_UNUSABLE', /cannot be written \(EISDIR/)
    rejected(t, '/proc/scopegate/x.sqlite', 'ERR_DATA_DIR_UNUSABLE', /\/proc\/scopegate cannot be written/)
  },
)

t.test('openSqliteFile() rejects a folder without write access', (t) =>
  inUnwritableFolder(t, (folder) => {
    rejected(t, join(folder, 'x.sqlite'), 'ERR_DATA_DIR_UNUSABLE', /EACCES/)
    rejected(t, join(folder, 'below', 'x.sqlite'), 'ERR_DATA_DIR_UNUSABLE', /EACCES/)
  }),
)

t.test(
  'openSqliteFile() creates folder and files for the owner only, and restricts an existing file',
  async (t) => {
    const folder = join(t.testdir(), 'deep', 'data')
    const file = join(folder, 'x.sqlite')
    const database = openSqliteFile(file)
    t.equal(mode(folder), 0o700)
    for (const name of [file, `${file}-wal`, `${file}-shm`]) t.equal(mode(name), 0o600, name)
    database.close()
    chmodSync(file, 0o644)
    openSqliteFile(file).close()
    t.equal(mode(file), 0o600)
  },
)

t.test(
  'openSqliteFile() sets WAL and synchronous=FULL, so that acknowledged writes survive a power failure',
  async (t) => {
    const database = openSqliteFile(join(t.testdir(), 'x.sqlite'))
    t.teardown(() => database.close())
    t.equal(database.prepare('pragma journal_mode').get()?.['journal_mode'], 'wal')
    t.equal(database.prepare('pragma synchronous').get()?.['synchronous'], 2)
  },
)

t.test('a closed store throws ERR_STORE_UNAVAILABLE, not a SQLite error', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'x.sqlite'), { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  await store.close()
  await t.rejects(store.probe(), { name: 'StoreError', code: 'ERR_STORE_UNAVAILABLE' })
  await t.rejects(store.artifacts('AccessToken').find('x'), { code: 'ERR_STORE_UNAVAILABLE' })
  await t.rejects(store.accounts.findById('x'), { code: 'ERR_STORE_UNAVAILABLE' })
})

function rejected(t: Test, file: string, code: string, message: RegExp): void {
  try {
    openSqliteFile(file).close()
    t.fail('opened')
  } catch (error) {
    t.type(error, BootError)
    t.match(error, { code, message, exitCode: 1 })
  }
}

function mode(path: string): number {
  return statSync(path).mode & 0o777
}

function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)]
    } catch {
      return [] // the file was closed during the loop
    }
  })
}
