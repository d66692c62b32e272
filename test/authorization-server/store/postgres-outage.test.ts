import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import type { PostgresConnection } from '../../../authorization-server/store/postgres-connection.ts'
import { openPostgresStore } from '../../../authorization-server/store/postgres-store.ts'
import type { Store, StoreErrorReason } from '../../../authorization-server/store/store.ts'
import { startFaultProxy } from '../../fixtures/fault-proxy.ts'
import { POOL, runPostgresTool, startPostgres, type TestPostgres } from '../../fixtures/postgres.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

const options = { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 }

async function start(t: Test, more: Parameters<typeof startPostgres>[0] = {}): Promise<TestPostgres> {
  const server = await startPostgres(more)
  t.teardown(() => server.remove())
  return server
}

async function open(
  t: Test,
  server: TestPostgres,
  pool: Partial<PostgresConnection['pool']> = {},
  port = server.port,
): Promise<Store> {
  const url = server.url.replace(`:${server.port}/`, `:${port}/`)
  const store = await openPostgresStore({ ...server.connection, url, pool: { ...POOL, ...pool } }, options)
  t.teardown(() => store.close())
  return store
}

const writes = (store: Store) =>
  store.probe().then(
    () => true,
    () => false,
  )
const fails = (t: Test, work: Promise<unknown>, reason: StoreErrorReason) =>
  t.rejects(work, { name: 'StoreError', code: 'ERR_STORE_UNAVAILABLE', reason }, reason)

t.test('every operation fails while PostgreSQL is stopped, and works after its start', async (t) => {
  const server = await start(t)
  const store = await open(t, server)
  await Promise.all(Array.from({ length: 20 }, () => store.probe()))
  await server.stop()
  for (const work of [
    () => store.probe(),
    () => store.sweep(0),
    () => store.artifacts('Session').find('x'),
    () => store.artifacts('Session').upsert('x', {}, 60),
    () => store.artifacts('AuthorizationCode').consume('x'),
    () => store.artifacts('AccessToken').revokeByGrantId('x'),
    () => store.exchange({ model: 'RefreshToken', id: 'x' }, []),
    () => store.accounts.findByUsername('x'),
    () => store.revocations.lastId(),
  ])
    await fails(t, work(), 'away')
  await server.start()
  await store.probe()
  t.equal(await store.artifacts('AuthorizationCode').consume('x'), false)
})

t.test('each acknowledged write survives a crash of PostgreSQL', async (t) => {
  const server = await start(t)
  const store = await open(t, server)
  const ids = Array.from({ length: 50 }, (_, i) => `token ${i}`)
  for (const id of ids) await store.artifacts('RefreshToken').upsert(id, { jti: id }, 900)
  t.equal(await store.artifacts('RefreshToken').consume('token 0'), true)
  await server.stop('crash')
  await server.start()
  for (const id of ids) t.match(await store.artifacts('RefreshToken').find(id), { jti: id })
  t.equal(await store.artifacts('RefreshToken').consume('token 0'), false)
})

t.test('a frozen PostgreSQL fails requests, and works after it continues', async (t) => {
  const server = await start(t)
  const store = await open(t, server, { connectTimeoutMs: 1_000, statementTimeoutMs: 1_000 })
  await store.probe()
  server.freeze()
  await fails(t, store.probe(), 'away')
  await fails(t, store.artifacts('Session').find('x'), 'away')
  server.thaw()
  await until('writes work again', () => writes(store))
})

t.test('an operation that can run twice is repeated after its connection is closed', async (t) => {
  const server = await start(t)
  const store = await open(t, server, { max: 1 })
  await store.artifacts('Session').upsert('s', { uid: 'u' }, 60)
  // The trigger closes the connection of every second update.
  await server.query(`create sequence public.calls; grant usage on public.calls to public;
    create function public.close_once() returns trigger language plpgsql as $$ begin
      if nextval('public.calls') % 2 = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
      return new;
    end $$;
    create trigger close_once before update on scopegate.artifacts for each row execute function public.close_once()`)
  await store.artifacts('Session').upsert('s', { uid: 'u', again: true }, 60)
  t.match(await store.artifacts('Session').find('s'), { again: true })
  await fails(t, store.artifacts('Session').consume('s'), 'away')
})

t.test('a transaction that PostgreSQL rolled back is repeated', async (t) => {
  const server = await start(t)
  const store = await open(t, server)
  await server.query(`create sequence public.calls; grant usage on public.calls to public;
    create function public.deadlock() returns trigger language plpgsql as $$ begin
      if nextval('public.calls') < 3 then raise exception 'invented' using errcode = '40P01'; end if;
      return new;
    end $$`)
  await store.artifacts('AuthorizationCode').upsert('code', { jti: 'code' }, 60)
  await server.query(
    'create trigger deadlock before update on scopegate.artifacts for each row execute function public.deadlock()',
  )
  t.equal(await store.artifacts('AuthorizationCode').consume('code'), true)
})

t.test('a revocation in a deadlock with another program succeeds with the default timeouts', async (t) => {
  const server = await start(t)
  const store = await open(t, server, { connectTimeoutMs: 2_000, statementTimeoutMs: 2_000 })
  const tokens = store.artifacts('AccessToken')
  for (const id of ['one', 'two']) await tokens.upsert(id, { jti: id, grantId: 'g' }, 60)
  const other = await server.connect()
  t.teardown(() => other.end())
  const lock = (id: string) =>
    other.query('select 1 from scopegate.artifacts where id = $1 for update', [hashId(id)])
  await other.query('begin')
  await lock('two')
  const revoking = store.artifacts('Grant').revokeByGrantId('g')
  await until('the revocation waits for the second token', async () => {
    const [row] = await server.query("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
    return row?.['count'] === '1'
  })
  await lock('one')
  await other.query('commit')
  await revoking
  for (const id of ['one', 'two']) t.equal(await tokens.find(id), undefined)
})

t.test('each failure of PostgreSQL has its reason', async (t) => {
  const server = await start(t)
  const store = await open(t, server)
  await server.query(`create table public.failure (code text); grant select on public.failure to public;
    create function public.fail() returns trigger language plpgsql as $$ declare wanted text; begin
      select code into wanted from public.failure;
      if wanted is not null then raise exception 'invented' using errcode = wanted; end if;
      return new;
    end $$;
    create trigger fail before insert on scopegate.artifacts for each row execute function public.fail()`)
  for (const [code, reason] of [
    ['25006', 'read_only'],
    ['40001', 'locked'],
    ['40P01', 'locked'],
    ['53100', 'full'],
    ['53300', 'away'],
    ['55P03', 'locked'],
    ['57014', 'away'],
    ['57P03', 'away'],
    ['08006', 'away'],
    ['42501', 'failed'],
    ['22012', 'failed'],
  ] as const) {
    await server.query('delete from public.failure')
    await server.query('insert into public.failure values ($1)', [code])
    await fails(t, store.probe(), reason)
  }
  await server.query("update public.failure set code = 'XX001'")
  await t.rejects(store.probe(), { code: 'ERR_STORE_DAMAGED', reason: 'damaged' })
  await server.query('delete from public.failure')
  await store.probe()
})

t.test('a lock of another program is reported, and the connection stays usable', async (t) => {
  const server = await start(t)
  const store = await open(t, server, { max: 1, statementTimeoutMs: 1_000 })
  await store.probe()
  const other = await server.connect()
  t.teardown(() => other.end())
  await other.query('begin; lock table scopegate.artifacts')
  await fails(t, store.probe(), 'locked')
  await other.query('rollback')
  await store.probe()
})

t.test('when all connections are in use, a request fails after the connect timeout', async (t) => {
  const server = await start(t)
  const store = await open(t, server, { max: 1, connectTimeoutMs: 1_000 })
  const other = await server.connect()
  t.teardown(() => other.end())
  await other.query('begin; lock table scopegate.accounts')
  const waiting = store.accounts.findById('x')
  await fails(t, store.probe(), 'away')
  await other.query('rollback')
  t.equal(await waiting, undefined)
  await store.probe()
})

t.test('after a failover the store connects to the new primary', async (t) => {
  const primary = await start(t)
  const copy = mkdtempSync(join(tmpdir(), 'scopegate-standby-'))
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  const origin = ['--host=127.0.0.1', `--port=${primary.port}`, '--username=admin']
  runPostgresTool('pg_basebackup', [...origin, '--checkpoint=fast', '--no-sync', `--pgdata=${copy}`])
  writeFileSync(join(copy, 'standby.signal'), '')
  execFileSync('chmod', ['700', copy])
  const standby = await start(t, {
    from: copy,
    settings: { primary_conninfo: `host=127.0.0.1 port=${primary.port} user=admin` },
  })
  const way = await startFaultProxy(primary.port)
  t.teardown(() => way.close())
  const store = await open(t, primary, {}, way.port)
  const lost: string[] = []
  let isFollowing = true
  await store.revocations.follow({
    revoked: (logged) => void lost.push(...logged.map(() => 'revoked')),
    gap: () => void lost.push('gap'),
    lost: () => {
      isFollowing = false
    },
    restored: () => {
      isFollowing = true
    },
  })
  await store.artifacts('RefreshToken').upsert('kept', { jti: 'kept', grantId: 'g' }, 900)
  await until('the standby has the write', async () => {
    const [row] = await standby.query('select count(*) from scopegate.artifacts').catch(() => [])
    return Number(row?.['count']) >= 2
  })

  const clients = async () => {
    const [row] = await primary.query("select count(*) from pg_stat_activity where usename = 'scopegate'")
    return Number(row?.['count'])
  }
  await Promise.all(Array.from({ length: 50 }, () => store.probe()))
  t.ok((await clients()) > 5, 'the pool has several connections')

  // The old primary is read-only, but keeps its connections open. At first, the proxy still connects to the old
  // primary.
  await primary.query('alter system set default_transaction_read_only = on')
  await primary.query('select pg_reload_conf()')
  await until('the old primary is read-only', async () => !(await writes(store)))
  await fails(t, store.probe(), 'read_only')
  await until('the server reports that it misses revocations', async () => !isFollowing, 20_000)
  // The proxy then connects to a standby, which later becomes the new primary.
  way.retarget(standby.port)
  await until(
    'no connection to the old primary is left',
    async () => {
      await writes(store)
      return (await clients()) === 0
    },
    20_000,
  )
  await standby.query('select pg_promote()')
  await until('writes work', () => writes(store))
  t.equal(await store.artifacts('RefreshToken').consume('kept'), true)
  await until('the server follows the revocations of the new primary', async () => isFollowing, 20_000)
  await until('the revocation log works', async () =>
    store
      .artifacts('Grant')
      .revokeByGrantId('g')
      .then(
        () => true,
        () => false,
      ),
  )
  await until('the follower received it', async () => lost.length > 0)
  t.same(lost, ['revoked'], 'without a gap')
})
