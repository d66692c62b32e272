import { Redis } from 'ioredis'
import t from 'tap'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { openStore } from '../../../authorization-server/store/open-store.ts'
import { REDIS_KEYS } from '../../../authorization-server/store/redis.ts'
import { openRedisStore } from '../../../authorization-server/store/redis-store.ts'
import { describeRedisUrl } from '../../../platform/redis/redis-failure.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { TOKEN_CONFIG, TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

const clock = { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 }

t.test('describeRedisUrl() never shows user or password', async (t) => {
  t.equal(describeRedisUrl('redis://admin:s3cret@db.example:6380/2'), 'redis://db.example:6380/2')
  t.equal(describeRedisUrl('rediss://:s3cret@db.example'), 'rediss://db.example:6379')
  for (const url of ['', 's3cret', 'http://u:s3cret@db.example', 'redis://'])
    t.throws(() => describeRedisUrl(url), { code: 'ERR_REDIS_URL', exitCode: 3, message: /^(?!.*s3cret)/ })
  for (const url of [
    'redis://scopegate:4711/abcs3cret@db.example:6379',
    'redis://default:/s3cret@db.example',
    'redis://default:4711?s3cret@db.example',
    'redis://default:4711#s3cret@db.example',
    'redis://db.example/s3cret',
  ])
    t.throws(
      () => describeRedisUrl(url),
      {
        code: 'ERR_REDIS_URL',
        exitCode: 3,
        message:
          'redis.url (REDIS_URL) has a path other than the number of a database. Encode / in a password as %2F, ? as %3F and # as %23.',
      },
      url,
    )
})

t.test('openStore() rejects redis without a URL', async (t) => {
  const config = { ...TOKEN_CONFIG, store: { type: 'redis' }, dataDir: '/nowhere', redis: undefined } as const
  await t.rejects(openStore(config, clock), { code: 'ERR_REDIS_URL', exitCode: 3 })
})

t.test('an unreachable Redis causes a start error that does not contain the password', async (t) => {
  const port = await quietPort()
  await t.rejects(openRedisStore({ url: `redis://:s3cret@127.0.0.1:${port}` }, clock), {
    code: 'ERR_REDIS_UNREACHABLE',
    message: new RegExp(
      `^Redis at redis://127.0.0.1:${port} cannot be reached \\(ECONNREFUSED\\)\\. Start Redis`,
    ),
  })
})

t.test('a wrong password causes a start error that does not contain the password', async (t) => {
  const server = await startRedis({ folder: t.testdir(), password: 'right' })
  t.teardown(() => server.stop())
  for (const url of [`redis://:s3cret@127.0.0.1:${server.port}`, `redis://127.0.0.1:${server.port}`])
    await t.rejects(
      openRedisStore({ url }, clock),
      { code: 'ERR_REDIS_REFUSED', message: /^(?!.*s3cret)/ },
      url,
    )
  await (await openRedisStore({ url: server.url }, clock)).close()
})

t.test('a newer schema or a read-only replica causes a start error', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  t.teardown(() => server.stop())
  const redis = new Redis(server.url)
  t.teardown(() => redis.disconnect())
  await redis.set('{scopegate}:schema', '99')
  await t.rejects(openRedisStore({ url: server.url }, clock), {
    code: 'ERR_STORE_TOO_NEW',
    message: /version 99/,
  })
  await redis.replicaof('127.0.0.1', '1')
  await t.rejects(openRedisStore({ url: server.url }, clock), { code: 'ERR_REDIS_READ_ONLY' })
})

t.test('a claimed ID expires in Redis, so that used IDs do not fill the memory', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const store = await openRedisStore({ url: server.url }, clock)
  const redis = new Redis(server.url)
  t.teardown(async () => {
    await store.close()
    redis.disconnect()
    await server.stop()
  })
  for (const seconds of [60, 3_600]) {
    const startedMs = performance.now()
    t.equal(await store.artifacts('ReplayDetection').claim(`proof ${seconds}`, seconds), true)
    const leftMs = await redis.pttl(REDIS_KEYS.artifact('ReplayDetection', hashId(`proof ${seconds}`)))
    t.ok(leftMs <= seconds * 1_000, `${leftMs} ms`)
    t.ok(leftMs > seconds * 1_000 - (performance.now() - startedMs) - 2, `${leftMs} ms`)
  }
})

t.test(
  'an artifact with a short lifetime does not shorten the lifetime of the records of the limit',
  async (t) => {
    const server = await startRedis({ folder: t.testdir() })
    const store = await openRedisStore({ url: server.url }, clock)
    const redis = new Redis(server.url)
    t.teardown(async () => {
      await store.close()
      redis.disconnect()
      await server.stop()
    })
    const source = { address: 'one', network: 'one' }
    for (const seconds of [3_600, 60])
      await store
        .artifacts('Interaction')
        .upsertBounded(`for ${seconds}`, {}, seconds, { source, bound: { perAddress: 5, total: 5 } })
    const records = (await redis.keys('*')).filter((key) => !/:(?:artifact:|schema$|publishes:)/.test(key))
    t.equal(records.length, 7)
    for (const key of records) t.ok((await redis.pttl(key)) > 3_000_000, key)
  },
)

t.test('upsertBounded() evicts when an earlier server left a count without artifacts', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const store = await openRedisStore({ url: server.url }, clock)
  const redis = new Redis(server.url)
  t.teardown(async () => {
    await store.close()
    redis.disconnect()
    await server.stop()
  })
  const pending = store.artifacts('Interaction')
  const admit = (id: string) =>
    pending.upsertBounded(id, { jti: id }, 60, {
      source: { address: 'address', network: 'network' },
      bound: { perAddress: 9, total: 2 },
    })
  await admit('1')
  await redis.zadd(`${REDIS_KEYS.addressesOf('Interaction')}${hashId('network')}`, 9, 'no address')
  await redis.zadd(REDIS_KEYS.sources('Interaction'), 9, 'no network')
  for (const id of ['2', '3']) await admit(id)
  t.equal(await pending.find('1'), undefined)
  for (const id of ['2', '3']) t.match(await pending.find(id), { jti: id })
})

t.test('lists with pages of accounts are complete, also if an account was just removed', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  const store = await openRedisStore({ url: server.url }, clock)
  t.teardown(async () => {
    redis.disconnect()
    await store.close()
    await server.stop()
  })
  const account = { name: 'Name', email: undefined, origin: 'operator', createdAtSeconds: 1 } as const
  for (const id of ['b', 'd', 'e']) await store.accounts.insert({ ...account, id, username: id })
  // list() finds these IDs in the set, but the accounts no longer exist.
  await redis.sadd(REDIS_KEYS.origin('operator'), 'a', 'c', 'f')
  const listed = async (after: string | undefined, limit: number) =>
    (await store.accounts.list({ after, limit })).map(({ id }) => id)
  t.strictSame(await listed(undefined, 1), ['b'])
  t.strictSame(await listed(undefined, 2), ['b', 'd'])
  t.strictSame(await listed('b', 2), ['d', 'e'])
  t.strictSame(await listed('e', 2), [])

  const ids = Array.from({ length: 2_100 }, (_, index) => `id-${index}`)
  await redis.sadd(REDIS_KEYS.origin('operator'), ...ids)
  const sessions = store.artifacts('Session')
  await Promise.all(ids.map((accountId) => sessions.upsert(`of ${accountId}`, { accountId }, 60)))
  const pages = []
  for (let cursor: string | undefined; pages.length === 0 || cursor !== undefined; ) {
    const { listed: page, next } = await sessions.list(cursor)
    pages.push(page.length)
    cursor = next
  }
  t.strictSame(pages, [994, 1_000, 106], 'a page of 1,000 accounts; 6 accounts have no session')
})

t.test('revokes and publishes again a revocation that Redis lost', async (t) => {
  const folder = t.testdir()
  const first = await startRedis({ folder })
  const lines: Record<string, unknown>[] = []
  const write = (line: object) => void lines.push({ ...line })
  const store = await openRedisStore({ url: first.url }, { ...clock, logger: { warn: write, info: write } })
  t.teardown(() => store.close())
  const told: unknown[] = []
  await store.revocations.follow({
    revoked: (logged) => void told.push(...logged.map(({ revocation }) => revocation.grant)),
    gap: () => undefined,
    lost: () => undefined,
  })
  const tokens = store.artifacts('AccessToken')
  for (const name of ['gone', 'kept']) await tokens.upsert(name, { jti: name, grantId: `grant ${name}` }, 600)
  const redis = new Redis(first.url)
  await redis.save()
  redis.disconnect()
  await store.artifacts('Grant').revokeByGrantId('grant gone')
  await until('told', async () => told.length === 1)
  await first.stop()
  const second = await startRedis({ folder, port: first.port })
  t.teardown(() => second.stop())
  await until('told again', async () => told.length === 2)
  t.same(told, [hashId('grant gone'), hashId('grant gone')])
  t.equal(await tokens.find('gone'), undefined)
  t.ok(await tokens.find('kept'))
  const renewed = await until('logged', async () =>
    lines.find(({ event }) => event === 'revocations_renewed'),
  )
  t.match(renewed, { grants: 1 })
})

t.test('repeats lost revocations until Redis accepts writes', async (t) => {
  const folder = t.testdir()
  const first = await startRedis({ folder })
  const events: unknown[] = []
  const write = (line: object) => void events.push({ ...line })
  const store = await openRedisStore({ url: first.url }, { ...clock, logger: { warn: write, info: write } })
  t.teardown(() => store.close())
  const ignore = () => undefined
  await store.revocations.follow({ revoked: ignore, gap: ignore, lost: ignore })
  const grants = ['one', 'two', 'three']
  const tokens = store.artifacts('AccessToken')
  for (const grantId of grants) await tokens.upsert(grantId, { jti: grantId, grantId }, 600)
  const before = new Redis(first.url)
  await before.save()
  before.disconnect()
  for (const grantId of grants) await store.artifacts('Grant').revokeByGrantId(grantId)
  await first.stop()
  const replica = ['--replicaof', '127.0.0.1', '1']
  const second = await startRedis({ folder, port: first.port, args: replica })
  t.teardown(() => second.stop())
  const failed = (line: unknown) => JSON.stringify(line).includes('revocations_renewal_failed')
  await until('a rejected repetition', async () => events.find(failed))
  const admin = new Redis(second.url)
  await admin.replicaof('NO', 'ONE')
  admin.disconnect()
  await until('the log line', async () => JSON.stringify(events).includes('revocations_renewed'))
  t.match(events.filter(failed), [{ event: 'revocations_renewal_failed', reason: 'read_only' }])
  t.match(events.at(-1), { event: 'revocations_renewed', grants: 3 })
  for (const grantId of grants) t.equal(await tokens.find(grantId), undefined)
})

t.test('calls fail immediately while Redis is unreachable, and succeed after it returns', async (t) => {
  const folder = t.testdir()
  const first = await startRedis({ folder })
  const log: string[] = []
  const lost = Promise.withResolvers<void>()
  const back = Promise.withResolvers<void>()
  const store = await openRedisStore(
    { url: first.url },
    {
      ...clock,
      logger: {
        warn: (_fields: unknown, message?: unknown) => {
          log.push(String(message))
          lost.resolve()
        },
        info: (_fields: unknown, message?: unknown) => {
          log.push(String(message))
          back.resolve()
        },
      },
    },
  )
  t.teardown(() => store.close())
  await store.probe()
  await first.stop()
  await lost.promise
  await t.rejects(store.probe(), { name: 'StoreError', code: 'ERR_STORE_UNAVAILABLE' })
  await t.rejects(store.artifacts('AuthorizationCode').consume('x'), { code: 'ERR_STORE_UNAVAILABLE' })
  await t.rejects(store.artifacts('AccessToken').revokeByGrantId('x'), { code: 'ERR_STORE_UNAVAILABLE' })
  await t.rejects(store.accounts.findByUsername('x'), { code: 'ERR_STORE_UNAVAILABLE' })
  const second = await startRedis({ folder, port: first.port })
  t.teardown(() => second.stop())
  await back.promise
  await store.probe()
  await store.artifacts('AccessToken').upsert('again', { jti: 'again' }, 60)
  t.match(await store.artifacts('AccessToken').find('again'), { jti: 'again' })
  t.strictSame(log, ['redis connection lost', 'redis connection is back'])
})
