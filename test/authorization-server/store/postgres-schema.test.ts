import t, { type Test } from 'tap'
import {
  migratePostgres,
  POSTGRES_SCHEMA_VERSION,
} from '../../../authorization-server/store/postgres-schema.ts'
import { openPostgresStore } from '../../../authorization-server/store/postgres-store.ts'
import { runPostgresTool, startPostgres } from '../../fixtures/postgres.ts'
import { documentedBlock } from '../../fixtures/repository-texts.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const server = await startPostgres()
t.teardown(() => server.remove())
const options = { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 }
const admin = `postgres://admin@127.0.0.1:${server.port}/scopegate`

const reset = () => server.query('drop schema if exists scopegate cascade')
const versions = async () =>
  (await server.query('select version from scopegate.schema_versions order by version')).map(
    ({ version }) => version,
  )
const structure = () =>
  runPostgresTool('pg_dump', ['--schema-only', '--schema=scopegate', admin])
    .split('\n')
    .filter((line) => !/^(--|$|\\(un)?restrict )/.test(line))
    .join('\n')

/** Adds a schema version that is newer than all versions of this program. */
async function migrateToNewer(t: Test): Promise<void> {
  const client = await server.connect('scopegate')
  t.teardown(() => client.end())
  const current = await client.query('select version, undo from scopegate.schema_versions order by version')
  const known = current.rows.map(({ undo }) => ({ up: '', undo: String(undo) }))
  const newer = {
    up: 'alter table scopegate.artifacts add column invented text; create table scopegate.invented (x text)',
    undo: 'alter table scopegate.artifacts drop column invented; drop table scopegate.invented',
  }
  await migratePostgres(client, [...known, newer])
}

t.test('20 concurrent starts on an empty database migrate once', async (t) => {
  await reset()
  const stores = await Promise.all(
    Array.from({ length: 20 }, () =>
      openPostgresStore({ ...server.connection, pool: { ...server.connection.pool, max: 1 } }, options),
    ),
  )
  for (const store of stores) await store.close()
  t.same(
    await versions(),
    Array.from({ length: POSTGRES_SCHEMA_VERSION }, (_, index) => index + 1),
  )
})

t.test('a failed migration leaves the database at the previous version', async (t) => {
  await reset()
  const client = await server.connect()
  t.teardown(() => client.end())
  const first = { up: 'create table scopegate.one (x text)', undo: 'drop table scopegate.one' }
  const broken = { up: 'create table scopegate.two (x text); select 1/0', undo: '' }
  await t.rejects(migratePostgres(client, [first, broken]), { code: '22012' })
  t.same(await versions(), [1])
  t.same(await server.query("select to_regclass('scopegate.two') as found"), [{ found: null }])
  t.equal(await migratePostgres(client, [first]), 1, 'the connection is usable, without an open transaction')
})

t.test(
  'a newer schema prevents the start, and the documented command restores the older schema',
  async (t) => {
    await reset()
    const store = await openPostgresStore(server.connection, options)
    await store.artifacts('Client').upsert('kept', { client_id: 'kept' }, undefined)
    await store.close()
    const before = structure()
    await migrateToNewer(t)
    t.not(structure(), before)
    const newest = POSTGRES_SCHEMA_VERSION + 1
    await t.rejects(openPostgresStore(server.connection, options), {
      code: 'ERR_STORE_TOO_NEW',
      exitCode: 1,
      message: `PostgreSQL at postgres://127.0.0.1:${server.port}/scopegate has schema version ${newest}; this program supports versions up to ${POSTGRES_SCHEMA_VERSION}. Start the newer Scopegate that wrote it, or undo the newer versions (docs/upgrade.md#downgrade).`,
    })

    const block = documentedBlock('docs/upgrade.md', 'select undo from')
    const [, script = ''] = /psql .*<<'SQL'\n([\s\S]*?)\nSQL/.exec(block) ?? []
    t.match(script, 'version > 1')
    const psql = ['--no-psqlrc', '--set=ON_ERROR_STOP=1', server.url]
    runPostgresTool('psql', psql, script.replace('version > 1', `version > ${POSTGRES_SCHEMA_VERSION}`))
    t.equal(structure(), before)
    const again = await openPostgresStore(server.connection, options)
    t.teardown(() => again.close())
    t.ok(await again.artifacts('Client').find('kept'))
  },
)

t.test('each migration can be undone and repeated', async (t) => {
  await reset()
  const client = await server.connect()
  t.teardown(() => client.end())
  t.equal(await migratePostgres(client), 0)
  const before = structure()
  for (const { undo } of await server.query(
    'select undo from scopegate.schema_versions order by version desc',
  ))
    await server.query(String(undo))
  t.same(await versions(), [])
  t.same(await server.query("select count(*) from pg_proc where pronamespace = 'scopegate'::regnamespace"), [
    { count: '0' },
  ])
  t.equal(await migratePostgres(client), 0)
  t.equal(structure(), before)
})

t.test('a user without CREATE works in a prepared schema', async (t) => {
  await reset()
  await server.query('create role limited login')
  const limited = { ...server.connection, url: `postgres://limited@127.0.0.1:${server.port}/scopegate` }
  await t.rejects(openPostgresStore(limited, options), {
    code: 'ERR_POSTGRES_PERMISSION',
    message: /permission denied for database scopegate.*owner of the database or of the schema scopegate/,
  })
  await server.query('create schema scopegate authorization limited')
  const store = await openPostgresStore(limited, options)
  t.teardown(() => store.close())
  t.equal(await store.artifacts('AuthorizationCode').consume('unknown'), false)
})

t.test('the SQL of the guides creates the role and changes its password', async (t) => {
  const create = documentedBlock('docs/store-grants-in-postgresql.md', 'create role scopegate')
  const rotate = documentedBlock('docs/rotate-keys-and-secrets.md', 'psql --command')
  const [, change = ''] = /psql --command "(.*)"/.exec(rotate) ?? []
  t.match(change, '$NEW_PASSWORD')
  // The server of this test already has the role and the database of the guide.
  const renamed = (sql: string) =>
    sql.replaceAll(/\bscopegate\b/gi, 'scopegate_guide').replace('$NEW_PASSWORD', 'second')
  for (const sql of [...create.trim().split('\n'), change])
    runPostgresTool('psql', ['--set=ON_ERROR_STOP=1', admin, '--command', renamed(sql.trim())])
  t.same(await server.query("select datname from pg_database where datname = 'scopegate_guide'"), [
    { datname: 'scopegate_guide' },
  ])
})
