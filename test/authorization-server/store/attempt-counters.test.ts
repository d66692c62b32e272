import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { openStore, SQLITE_FILE_NAME } from '../../../authorization-server/store/open-store.ts'
import { REDIS_KEYS } from '../../../authorization-server/store/redis.ts'
import { MAX_ATTEMPT_COUNTERS, type Store } from '../../../authorization-server/store/store.ts'
import { startPostgres } from '../../fixtures/postgres.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { TOKEN_CONFIG } from '../../fixtures/token-settings.ts'

const clock = { nowSeconds: () => 1_000 }

async function addToFullStore(
  t: Test,
  { attempts }: Store,
  raw: { readonly fill: () => Promise<unknown>; readonly count: () => Promise<unknown> },
): Promise<void> {
  const counter = (id: string) => [{ id, limit: 1 }]
  await attempts.add(counter('oldest'), 300)
  await attempts.add(counter('second'), 400)
  await raw.fill()
  t.equal(Number(await raw.count()), MAX_ATTEMPT_COUNTERS)
  await attempts.add(counter('newest'), 900)
  t.equal(Number(await raw.count()), MAX_ATTEMPT_COUNTERS)
  t.equal(await attempts.check(counter('oldest')), undefined)
  t.match(await attempts.check(counter('second')), { id: 'second' })
  t.match(await attempts.check(counter('newest')), { id: 'newest' })
}

const FILLED = MAX_ATTEMPT_COUNTERS - 2

t.test('SQLite removes the oldest counter above 100,000 counters', async (t) => {
  const dataDir = t.testdir()
  const config = { ...TOKEN_CONFIG, store: { type: 'sqlite' }, dataDir, redis: undefined } as const
  const store = await openStore(config, clock)
  t.teardown(() => store.close())
  const database = new DatabaseSync(join(dataDir, SQLITE_FILE_NAME))
  t.teardown(() => database.close())
  await addToFullStore(t, store, {
    fill: async () =>
      database.exec(`with recursive filled (n) as (select 1 union all select n + 1 from filled where n < ${FILLED})
        insert into attempt_counters (id, ends_at) select n, 1600 from filled`),
    count: async () => database.prepare('select count(*) as n from attempt_counters').get()?.['n'],
  })
})

t.test('Redis removes the oldest counter above 100,000 counters', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  t.teardown(() => server.stop())
  const config = { store: { type: 'redis' }, redis: { url: server.url } } as const
  const store = await openStore({ ...TOKEN_CONFIG, dataDir: '/nowhere', ...config }, clock)
  t.teardown(() => store.close())
  const redis = new Redis(server.url)
  t.teardown(() => redis.disconnect())
  const fill = `local now = tonumber(redis.call('TIME')[1])
    for n = 1, ${FILLED} do redis.call('ZADD', KEYS[1], now + 600, KEYS[1] .. n) end`
  await addToFullStore(t, store, {
    fill: () => redis.eval(fill, 1, REDIS_KEYS.attemptCounters),
    count: () => redis.zcard(REDIS_KEYS.attemptCounters),
  })
})

t.test('PostgreSQL removes the oldest counter above 100,000 counters', async (t) => {
  const server = await startPostgres()
  t.teardown(() => server.remove())
  const config = { store: { type: 'postgres' }, redis: undefined, postgres: server.connection } as const
  const store = await openStore({ ...TOKEN_CONFIG, dataDir: '/nowhere', ...config }, clock)
  t.teardown(() => store.close())
  await addToFullStore(t, store, {
    fill: () =>
      server.query(`insert into scopegate.attempt_counters (id, ends_at)
        select n, now() + interval '600 seconds' from generate_series(1, ${FILLED}) n`),
    count: async () => (await server.query('select count(*) as n from scopegate.attempt_counters'))[0]?.['n'],
  })
})
