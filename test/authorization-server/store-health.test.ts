import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { attemptSqlite } from '../../authorization-server/store/sqlite.ts'
import { openSqliteStore } from '../../authorization-server/store/sqlite-store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { TOKEN_SETTINGS } from '../fixtures/token-settings.ts'
import { until } from '../fixtures/until.ts'

t.jobs = 4 // each test starts its own server and store, and needs little CPU time

const register = async (server: AuthorizationServer): Promise<number> => {
  const { status } = await send(`${server.baseUrl}${ENDPOINTS.registration}`, {
    json: { redirect_uris: ['http://127.0.0.1:49152/callback'] },
  })
  return status
}
const readiness = (server: AuthorizationServer) => send(`${server.managementUrl}/readyz?verbose`)
const metric = async (server: AuthorizationServer, series: string): Promise<number> => {
  const { text } = await send(`${server.managementUrl}/metrics`)
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1))
}
const events = (server: AuthorizationServer, event: string) =>
  server.log().filter((line) => line['event'] === event)

/**
 * Waits until the readiness check contains the expected text about the store. The server must stay ready in each state.
 */
async function shownAs(t: Test, server: AuthorizationServer, expected: string): Promise<void> {
  const answer = await until(expected, async () => {
    const shown = await readiness(server)
    return shown.text.includes(expected) && shown
  })
  t.equal(answer.status, 200)
}

t.test(
  'after the Redis command FAILOVER, the server connects to the new primary and writes again',
  async (t) => {
    const folder = t.testdir({ one: {}, other: {} })
    const primary = await startRedis({ folder: join(folder, 'one') })
    const replica = await startRedis({ folder: join(folder, 'other') })
    const way = await startFaultProxy(primary.port)
    const admin = new Redis(primary.url)
    const adminOfReplica = new Redis(replica.url)
    t.teardown(async () => {
      admin.disconnect()
      adminOfReplica.disconnect()
      await way.close()
      await primary.stop()
      await replica.stop()
    })
    await adminOfReplica.replicaof('127.0.0.1', primary.port)
    await until('the replica is online', async () => /state=online/.test(await admin.info('replication')))
    const redis = { url: `redis://127.0.0.1:${way.port}` }
    const server = await startServer(t, { store: { type: 'redis' }, redis })
    t.equal(await register(server), 201)

    await admin.call('FAILOVER', 'TO', '127.0.0.1', String(replica.port))
    await until('the replica is primary', async () =>
      /role:master/.test(await adminOfReplica.info('replication')),
    )
    await until('the old primary is a replica', async () =>
      /role:slave/.test(await admin.info('replication')),
    )
    t.equal(await register(server), 503, 'the address still points to the old primary')
    await shownAs(t, server, '[!] store: read_only: the store is read-only')
    t.equal(await metric(server, 'scopegate_oauth_store_writable'), 0)
    t.ok((await metric(server, 'scopegate_oauth_store_errors_total{reason="read_only"}')) > 0)

    // New connections use the new primary, and the open connection still uses the old primary.
    way.retarget(replica.port)
    await until('the server writes again', async () => (await register(server)) === 201)
    await shownAs(t, server, '[+] store')
    t.equal(await metric(server, 'scopegate_oauth_store_writable'), 1)
    t.equal(events(server, 'store_recovered').length, 1)
    const degraded = events(server, 'store_degraded').map(({ reason }) => reason)
    t.equal(degraded[0], 'read_only')
    t.ok(degraded.length <= 2, 'one line for each change')
  },
)

t.test('a full Redis is reported as degraded, counted, and logged in one line', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  const admin = new Redis(redis.url)
  t.teardown(async () => {
    admin.disconnect()
    await redis.stop()
  })
  const server = await startServer(t, { store: { type: 'redis' }, redis: { url: redis.url } })
  const client = await registerClient(server)
  const tokens = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid' })
  await shownAs(t, server, '[+] store')
  await admin.config('SET', 'maxmemory', '1')
  t.equal(await register(server), 503)
  t.equal(await register(server), 503)
  await shownAs(t, server, '[!] store: full: the store is full')
  t.equal(await metric(server, 'scopegate_oauth_store_errors_total{reason="full"}'), 2)
  const durations = 'scopegate_oauth_store_operation_duration_seconds_count'
  t.equal(await metric(server, `${durations}{operation="artifacts_upsert",result="full"}`), 2)
  t.equal(await metric(server, 'scopegate_oauth_store_writable'), 0)
  t.equal((await client.revoke(tokens.accessToken)).status, 200, 'a revocation requires no memory')
  t.equal((await introspect(server, tokens.accessToken))['active'], false)
  await admin.config('SET', 'maxmemory', '0')
  await shownAs(t, server, '[+] store')
  t.equal(await register(server), 201)
  t.match(events(server, 'store_degraded'), [{ reason: 'full', cause: /^OOM/ }])
  t.equal(events(server, 'store_degraded').length, 1)
  t.equal(events(server, 'store_recovered').length, 1)
  t.equal(
    events(server, 'failed').filter(({ level }) => level === 'error').length,
    0,
    'the log has no stack trace for each request',
  )
})

t.test('a restart of PostgreSQL is reported, and the server works again without a restart', async (t) => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.remove())
  const server = await startServer(t, { store: { type: 'postgres' }, postgres: postgres.connection })
  await shownAs(t, server, '[+] store')
  const difference = await metric(server, 'scopegate_oauth_store_clock_difference_seconds')
  t.ok(Math.abs(difference) < 60, `${difference} s`)
  t.equal(await register(server), 201)
  await postgres.stop()
  t.equal(await register(server), 503)
  await shownAs(t, server, '[!] store: away: the store is unavailable')
  t.equal(await metric(server, 'scopegate_oauth_store_writable'), 0)
  t.ok((await metric(server, 'scopegate_oauth_store_errors_total{reason="away"}')) > 0)
  await postgres.start()
  t.equal(await register(server), 201)
  await shownAs(t, server, '[+] store')
  t.equal(await metric(server, 'scopegate_oauth_store_writable'), 1)
  t.equal(events(server, 'store_degraded').length, 1)
  t.equal(events(server, 'store_recovered').length, 1)
})

t.test('without any request, the write probe detects that SQLite rejects writes', async (t) => {
  const server = await startServer(t)
  await shownAs(t, server, '[+] store')
  const file = join(server.dataDir, 'authorization-server.sqlite')
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  database.exec(
    "create trigger block_writes before insert on artifacts begin select raise(abort, 'no writes'); end",
  )
  await shownAs(t, server, '[!] store: failed: the store rejects writes')
  t.equal(await metric(server, 'scopegate_oauth_store_writable'), 0)
  t.equal(await register(server), 503)
  t.equal((await send(`${server.baseUrl}${ENDPOINTS.jwks}`)).status, 200, 'keys need no store')
  t.equal(Number.isNaN(await metric(server, 'scopegate_oauth_store_clock_difference_seconds')), true)
  database.exec('drop trigger block_writes')
  await shownAs(t, server, '[+] store')
  t.equal(events(server, 'store_degraded').length, 1)
  t.equal(events(server, 'store_recovered').length, 1)
})

t.test('attemptSqlite() distinguishes a full disk, a read-only file and a lock', async (t) => {
  const file = join(t.testdir(), 'x.sqlite')
  const database = new DatabaseSync(file, { timeout: 1 })
  database.exec('create table x (y text); pragma max_page_count = 2')
  const insert = (on: DatabaseSync) =>
    attemptSqlite(() => on.prepare('insert into x values (?)').run('y'.repeat(9_000)))
  t.throws(() => insert(database), { code: 'ERR_STORE_UNAVAILABLE', reason: 'full' })
  const readOnly = new DatabaseSync(file, { readOnly: true })
  t.throws(() => insert(readOnly), { code: 'ERR_STORE_UNAVAILABLE', reason: 'read_only' })
  const other = new DatabaseSync(file, { timeout: 1 })
  other.exec('begin immediate')
  t.throws(() => insert(database), { code: 'ERR_STORE_UNAVAILABLE', reason: 'locked' })
  for (const one of [database, readOnly, other]) one.close()
})

t.test('a probe does not wait for the lock of another process', async (t) => {
  const file = join(t.testdir(), 'locked.sqlite')
  const store = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
  t.teardown(() => store.close())
  await store.probe()
  // The worker releases the lock after 2 s, before other statements time out. A probe that waits for the lock would
  // succeed.
  const holder = new Worker(
    `const { DatabaseSync } = require('node:sqlite')
    const { parentPort, workerData } = require('node:worker_threads')
    const database = new DatabaseSync(workerData)
    database.exec('begin immediate')
    parentPort.postMessage('locked')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000)
    database.exec('commit')
    database.close()`,
    { eval: true, workerData: file },
  )
  await once(holder, 'message')
  await t.rejects(store.probe(), { code: 'ERR_STORE_UNAVAILABLE', reason: 'locked' })
  await once(holder, 'exit')
  await store.probe()
})
