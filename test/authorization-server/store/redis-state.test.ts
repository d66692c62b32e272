import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { readClockDifference, readRedisClock } from '../../../authorization-server/store/redis.ts'
import { openRedisStore } from '../../../authorization-server/store/redis-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { publisherKey, REVOCATION_STREAM } from '../../../platform/redis/revocation-keys.ts'
import { startRedis, type TestRedis } from '../../fixtures/start-redis.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

const server = await startRedis({ folder: t.testdir({ redis: {} }) })
const redis = new Redis(server.url)
t.teardown(async () => {
  redis.disconnect()
  await server.stop()
})

async function open(t: Test, on: TestRedis = server, lines: unknown[] = []): Promise<Store> {
  await redis.flushall()
  const write = (...line: unknown[]) => void lines.push(line)
  const store = await openRedisStore(
    { url: on.url },
    {
      ...TOKEN_SETTINGS,
      nowSeconds: () => 1_000,
      logger: { warn: write, info: write },
    },
  )
  t.teardown(() => store.close())
  return store
}

const artifact = (model: string, id: string): string => `{scopegate}:artifact:${model}:${hashId(id)}`

t.test('a new database gets its schema version, and the probe writes a key that expires', async (t) => {
  const store = await open(t)
  t.equal(await redis.get('{scopegate}:schema'), '1')
  const difference = (await store.probe()) ?? Number.NaN
  t.ok(Math.abs(difference) < 60, `${difference} s`)
  t.equal(await redis.get('{scopegate}:write-probe'), '1')
  const left = await redis.ttl('{scopegate}:write-probe')
  t.ok(left > 50 && left <= 60, `${left} s`)
  t.equal(await store.sweep(1_000), 0)
})

t.test('the start fails with an explanation for a newer schema and for a read-only Redis', async (t) => {
  await open(t)
  await redis.set('{scopegate}:schema', '3')
  const options = { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 }
  await t.rejects(openRedisStore({ url: server.url }, options), {
    name: 'BootError',
    code: 'ERR_STORE_TOO_NEW',
    exitCode: 1,
    message: `Redis at redis://127.0.0.1:${server.port} has schema version 3; this program supports versions up to 2. Start the newer Scopegate that wrote it, or name another database in redis.url (REDIS_URL).`,
  })
  await redis.set('{scopegate}:schema', '1')
  await redis.replicaof('127.0.0.1', '1')
  await t.rejects(openRedisStore({ url: server.url }, options), {
    code: 'ERR_REDIS_READ_ONLY',
    exitCode: 1,
    message: `Redis at redis://127.0.0.1:${server.port} rejects writes (READONLY You can't write against a read only replica.). Name the primary, and give the user write access to keys that begin with {scopegate}.`,
    cause: { name: 'ReplyError' },
  })
  await redis.replicaof('NO', 'ONE')
})

t.test('an artifact has exactly the expected keys and values in Redis', async (t) => {
  const store = await open(t)
  const payload = { jti: 'a', grantId: 'g', uid: 'u', userCode: 'c', accountId: 'account', consumed: 7 }
  await store.artifacts('AccessToken').upsert('a', payload, 60)
  const key = artifact('AccessToken', 'a')
  t.strictSame(await redis.hgetall(key), {
    p: '{"grantId":"g","uid":"u","userCode":"c","accountId":"account","jti":null}',
    c: '7',
  })
  const sets = [`{scopegate}:of-grant:${hashId('g')}`, '{scopegate}:of-account:account']
  const pointers = [
    `{scopegate}:uid:AccessToken:${hashId('u')}`,
    `{scopegate}:user-code:AccessToken:${hashId('c')}`,
  ]
  for (const set of sets) t.strictSame(await redis.zrange(set, '0', '-1'), [key])
  for (const pointer of pointers) t.equal(await redis.get(pointer), hashId('a'))
  for (const one of [key, ...sets, ...pointers]) {
    const left = await redis.ttl(one)
    t.ok(left > 50 && left <= 60, `${one}: ${left} s`)
  }
  const keys = (await redis.keys('*')).filter((one) => !/:(?:schema|publishes:.*)$/.test(one))
  t.same(new Set(keys), new Set([key, ...sets, ...pointers]))
  t.strictSame(await store.artifacts('AccessToken').find('a'), payload)
})

t.test('an artifact without expiry does not expire, and neither do its sets and pointers', async (t) => {
  const store = await open(t)
  const sessions = store.artifacts('Session')
  await sessions.upsert('s', { uid: 'u', grantId: 'g' }, 60)
  await sessions.upsert('s', { uid: 'u', grantId: 'g' }, undefined)
  const set = `{scopegate}:of-grant:${hashId('g')}`
  for (const key of [artifact('Session', 's'), `{scopegate}:uid:Session:${hashId('u')}`, set])
    t.equal(await redis.ttl(key), -1, key)
  t.equal(await redis.zscore(set, artifact('Session', 's')), 'inf')
})

t.test('a write removes expired members from the set of its grant', async (t) => {
  const store = await open(t)
  const set = `{scopegate}:of-grant:${hashId('g')}`
  await redis.zadd(set, 1, 'expired', 99_999_999_999, 'valid')
  await store.artifacts('AccessToken').upsert('a', { grantId: 'g' }, 60)
  t.strictSame(await redis.zrange(set, '0', '-1'), [artifact('AccessToken', 'a'), 'valid'])
})

t.test('an artifact with an expiry of zero seconds stays for one second', async (t) => {
  const store = await open(t)
  for (const seconds of [0, -5]) {
    await store.artifacts('AccessToken').upsert(`${seconds}`, {}, seconds)
    const left = await redis.pttl(artifact('AccessToken', `${seconds}`))
    t.ok(left <= 1_000, `${left} ms`)
    await store.artifacts('Interaction').upsertBounded(`${seconds}`, {}, seconds, {
      source: { address: 'a', network: 'n' },
      bound: { perAddress: 9, total: 9 },
    })
  }
  t.ok((await redis.pttl('{scopegate}:bounded:Interaction')) <= 1_000)
})

t.test('the time of a use comes from the clock of Redis', async (t) => {
  const store = await open(t)
  await store.artifacts('AuthorizationCode').upsert('c', { jti: 'c' }, 60)
  const before = await readRedisClock(redis)
  await store.artifacts('AuthorizationCode').consume('c')
  const after = await readRedisClock(redis)
  const { consumed } = (await store.artifacts('AuthorizationCode').find('c')) ?? {}
  t.ok(Number(consumed) >= before && Number(consumed) <= after, `${consumed}`)
  t.ok(Math.abs(before - Date.now() / 1_000) < 60)
})

t.test('readClockDifference() returns the seconds by which this process is ahead', async (t) => {
  const wallClock = Date.now
  for (const seconds of [1_000, -1_000]) {
    const { restore } = t.capture(Date, 'now', () => wallClock() + seconds * 1_000)
    const difference = await readClockDifference(redis)
    restore()
    t.ok(Math.abs(difference - seconds) < 30, `${difference} s`)
  }
  let calls = 0
  const [redisSeconds] = await redis.time()
  t.capture(Date, 'now', () => (calls++ === 0 ? 0 : 1_000) * 1_000)
  const middle = await readClockDifference(redis)
  t.ok(Math.abs(500 - Number(redisSeconds) - middle) < 30, 'the middle of the round trip counts')
})

t.test('limited artifacts have exactly the expected records, and no records after their end', async (t) => {
  const store = await open(t)
  const pending = store.artifacts('Interaction')
  const admit = (id: string, address: string, network: string) =>
    pending.upsertBounded(id, { jti: id }, 60, {
      source: { address, network },
      bound: { perAddress: 2, total: 4 },
    })
  await admit('1', 'a', 'n')
  await admit('2', 'a', 'n')
  await admit('3', 'a', 'n')
  await admit('4', 'b', 'n')
  await admit('5', 'c', 'm')
  const [two, three, four, five] = ['2', '3', '4', '5'].map((id) => artifact('Interaction', id))
  const [n, m, a, b, c] = ['n', 'm', 'a', 'b', 'c'].map(hashId)
  t.strictSame(await redis.zrange('{scopegate}:bounded:Interaction', '0', '-1'), [two, three, four, five])
  t.strictSame(await redis.hgetall('{scopegate}:source-of:Interaction'), {
    [`${two}`]: n,
    [`${three}`]: n,
    [`${four}`]: n,
    [`${five}`]: m,
  })
  t.strictSame(await redis.hgetall('{scopegate}:address-of:Interaction'), {
    [`${two}`]: a,
    [`${three}`]: a,
    [`${four}`]: b,
    [`${five}`]: c,
  })
  t.strictSame(await redis.zrange('{scopegate}:sources:Interaction', '0', '-1', 'WITHSCORES'), [
    m,
    '1',
    n,
    '3',
  ])
  t.strictSame(await redis.lrange(`{scopegate}:of-source:Interaction:${n}`, 0, -1), [two, three, four])
  t.strictSame(await redis.lrange(`{scopegate}:of-address:Interaction:${a}`, 0, -1), [two, three])
  t.strictSame(await redis.zrange(`{scopegate}:addresses:Interaction:${n}`, '0', '-1', 'WITHSCORES'), [
    b,
    '1',
    a,
    '2',
  ])
  const records = (await redis.keys('*')).filter((key) => !/:(?:artifact:.*|schema|publishes:.*)$/.test(key))
  t.equal(records.length, 11)
  for (const key of records) {
    const left = await redis.pttl(key)
    t.ok(left > 50_000 && left <= 60_000, `${key}: ${left} ms`)
  }
  for (const id of ['2', '3', '4', '5']) await pending.destroy(id)
  const remaining = (await redis.keys('*')).filter((key) => !/:(?:schema|publishes:.*)$/.test(key))
  t.strictSame(remaining, [])
})

t.test('the next write removes an expired artifact from the records', async (t) => {
  const store = await open(t)
  const admit = (id: string) =>
    store.artifacts('Interaction').upsertBounded(id, { jti: id }, 60, {
      source: { address: id, network: id },
      bound: { perAddress: 2, total: 9 },
    })
  await admit('gone')
  await redis.zadd('{scopegate}:bounded:Interaction', 1, artifact('Interaction', 'gone'))
  await admit('new')
  t.strictSame(await redis.zrange('{scopegate}:bounded:Interaction', '0', '-1'), [
    artifact('Interaction', 'new'),
  ])
  t.equal(await redis.exists(`{scopegate}:of-source:Interaction:${hashId('gone')}`), 0)
})

t.test('the end of a grant removes its set, and writes one stream entry and one key', async (t) => {
  const store = await open(t)
  await store.artifacts('AccessToken').upsert('a', { grantId: 'g' }, 60)
  const before = await readRedisClock(redis)
  await store.artifacts('Grant').revokeByGrantId('g')
  const after = await readRedisClock(redis)
  t.equal(await redis.exists(`{scopegate}:of-grant:${hashId('g')}`), 0)
  const [[, [, text] = []] = []] = await redis.xrange(REVOCATION_STREAM, '-', '+')
  const entry = JSON.parse(String(text))
  t.ok(entry.at >= before && entry.at <= after)
  t.strictSame(entry, { iss: 'https://api.test', grant: hashId('g'), at: entry.at, exp: entry.at + 900 })
  const mark = `{scopegate}:revoked:grant:${hashId('g')}`
  t.ok(Number(await redis.get(mark)) >= before && Number(await redis.get(mark)) <= after)
  const left = await redis.ttl(mark)
  t.ok(left > 1_190 && left <= 1_200, `${left} s`)
})

t.test('an account has exactly the expected keys, and no keys after its removal', async (t) => {
  const store = await open(t)
  const rest = { name: 'Carol', passwordHash: 'phc', createdAtSeconds: 7 }
  const carol = { id: 'id-1', username: 'carol', email: 'c@c.test', origin: 'operator', ...rest } as const
  t.equal(await store.accounts.insert(carol), true)
  t.strictSame(await redis.hgetall('{scopegate}:account:id-1'), {
    username: 'carol',
    name: 'Carol',
    passwordHash: 'phc',
    origin: 'operator',
    email: 'c@c.test',
    createdAtSeconds: '7',
  })
  t.equal(await redis.get('{scopegate}:username:carol'), 'id-1')
  t.strictSame(await redis.smembers('{scopegate}:accounts:operator'), ['id-1'])
  t.strictSame(await store.accounts.findById('id-1'), carol)
  t.strictSame(await store.accounts.listByOrigin('operator'), [carol])
  t.strictSame(await store.accounts.listByOrigin('development'), [])
  const dora = { id: 'id-2', username: 'dora', email: undefined, origin: 'development', ...rest } as const
  await store.accounts.insert(dora)
  t.strictSame(await store.accounts.findById('id-2'), dora)
  t.equal(await redis.hexists('{scopegate}:account:id-2', 'email'), 0)

  await store.accounts.setPasswordHash('unknown', 'new')
  t.equal(await redis.exists('{scopegate}:account:unknown'), 0)
  for (const { id } of [carol, dora]) await store.accounts.remove(id)
  t.strictSame(await redis.keys('{scopegate}:account*'), [])
  t.strictSame(await redis.keys('{scopegate}:username:*'), [])
  const mark = `{scopegate}:revoked:subject:${hashId('https://api.test\nid-1')}`
  t.equal(await redis.get(mark), '253402300799')
  const left = await redis.ttl(mark)
  t.ok(left > 1_190 && left <= 1_200, `${left} s`)
})

t.test('reading a damaged account returns default values for the damaged fields', async (t) => {
  const store = await open(t)
  await redis.hset('{scopegate}:account:id-1', { username: 'carol' })
  t.match(await store.accounts.findById('id-1'), {
    id: 'id-1',
    username: 'carol',
    name: '',
    email: undefined,
    passwordHash: undefined,
    origin: 'operator',
  })
  await redis.del('{scopegate}:account:id-1')
  await redis.hset('{scopegate}:account:id-1', { name: 'Carol' })
  t.equal(await store.accounts.findById('id-1'), undefined)
})

t.test('a script runs by its hash, and by its text after Redis has removed the script', async (t) => {
  const store = await open(t)
  const consume = () => store.artifacts('AuthorizationCode').consume('unknown')
  await consume()
  await redis.config('RESETSTAT')
  t.equal(await consume(), false)
  const stats = await redis.info('commandstats')
  t.match(stats, /cmdstat_evalsha:calls=1,/)
  t.notMatch(stats, /cmdstat_eval:/)
  await redis.script('FLUSH')
  t.equal(await consume(), false)
  t.match(await redis.info('commandstats'), /cmdstat_eval:calls=1,/)
})

t.test('a running server writes the publisher key of its issuer', async (t) => {
  const store = await open(t)
  const key = publisherKey(TOKEN_SETTINGS.issuer)
  t.equal(await redis.exists(key), 0, 'before the first follower')
  const ignore = { revoked: () => undefined, gap: () => undefined, lost: () => undefined }
  await store.revocations.follow(ignore)
  await store.revocations.follow(ignore)
  await until('the mark', async () => (await redis.exists(key)) === 1)
  t.equal(await redis.get(key), '1')
  const left = await redis.ttl(key)
  t.ok(left > 50 && left <= 60, `${left} s`)
  await redis.del(key)
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until('the mark after a new connection', async () => (await redis.exists(key)) === 1)
})

t.test(
  'followers and readers get only revocations of this issuer, and a gap for unreadable revocations',
  async (t) => {
    const store = await open(t)
    const told: unknown[] = []
    const stop = await store.revocations.follow({
      revoked: (logged) => void told.push(...logged.map(({ revocation }) => revocation.grant)),
      gap: () => void told.push('gap'),
      lost: () => void told.push('lost'),
    })
    await until('the start of the follower', async () => told.length > 0)
    t.strictSame(told.splice(0), ['gap'])
    const from = await store.revocations.lastId()
    t.match(from, /^[0-9a-f]{40}\.0-0$/)
    const add = (entry: string) => redis.xadd(REVOCATION_STREAM, '*', 'r', entry)
    await add('{"iss":"https://other.test","grant":"other","at":1}')
    await add('{"iss":"https://api.test","grant":"own","at":1}')
    await until('the own entry', async () => told.length > 0)
    t.strictSame(told.splice(0), ['own'])
    const last = await store.revocations.lastId()
    await add('{"iss":"https://api.test","grant":"second","at":1}')
    t.match(await store.revocations.readAfter(last, 1), [{ revocation: { grant: 'second' } }])
    await until('the second entry', async () => told.length > 0)
    t.strictSame(told.splice(0), ['second'])
    await add('unreadable')
    await until('the gap', async () => told.length > 0)
    t.strictSame(told.splice(0), ['gap'])
    stop()
    const behind = await store.revocations.lastId()
    await add('{"iss":"https://api.test","grant":"third","at":1}')
    t.equal(await store.revocations.readAfter(last, 10), undefined, 'an entry is unreadable')
    t.match(await store.revocations.readAfter(behind, 10), [{ revocation: { grant: 'third' } }])
    t.strictSame(told, [])
  },
)

t.test(
  'a replay contains the revocations of this issuer that still apply, and fails after an unreadable entry',
  async (t) => {
    const store = await open(t)
    const nowMs = (await readRedisClock(redis)) * 1_000
    const add = (ageSeconds: number, entry: string) =>
      redis.xadd(REVOCATION_STREAM, `${nowMs - ageSeconds * 1_000}-*`, 'r', entry)
    const own = (grant: string) => JSON.stringify({ iss: TOKEN_SETTINGS.issuer, grant, at: 1 })
    for (let index = 0; index < 5; index++) await add(7_200, own(`expired-${index}`))
    const ownUntil = (grant: string, aheadSeconds: number) =>
      JSON.stringify({
        iss: TOKEN_SETTINGS.issuer,
        grant,
        at: 1,
        exp: Math.round(nowMs / 1_000 + aheadSeconds),
      })
    await add(7_200, ownUntil('longer', 600)) // still applies: tokens had a longer lifetime at this time
    for (let index = 0; index < 9; index++)
      await add(600, `{"iss":"https://other.test","grant":"${index}","at":1}`)
    await add(600, ownUntil('shorter', -400))
    await add(600, own('applies'))
    await add(0, own('new'))
    const replayed = async (limit: number) =>
      (await store.revocations.readAfter(undefined, limit))?.map(({ revocation }) => revocation.grant)
    t.strictSame(await replayed(4), ['longer', 'applies', 'new'])
    t.equal(await replayed(2), undefined, 'more than the limit')
    const from = await store.revocations.lastId()
    await add(0, 'unreadable')
    t.equal(await replayed(4), undefined)
    t.equal(await store.revocations.readAfter(from, 4), undefined)
  },
)

t.test(
  'followers are notified of an unavailable Redis, and lost revocations are written again',
  async (t) => {
    const folder = join(t.testdir({ own: {} }), 'own')
    const first = await startRedis({ folder })
    const lines: unknown[] = []
    const store = await open(t, first, lines)
    const told: string[] = []
    await store.revocations.follow({
      revoked: () => void told.push('revoked'),
      gap: () => void told.push('gap'),
      lost: () => void told.push('lost'),
      restored: () => void told.push('restored'),
    })
    await until('the gap of the start', async () => told.includes('gap'))
    const admin = new Redis(first.url)
    await store.artifacts('AccessToken').upsert('a', { grantId: 'g' }, 600)
    await admin.save()
    admin.disconnect()
    await store.artifacts('Grant').revokeByGrantId('g')
    await until('the revocation', async () => told.includes('revoked'))
    await first.stop()
    await until('the loss', async () => told.includes('lost'))
    const second = await startRedis({ folder, port: first.port })
    t.teardown(() => second.stop())
    await until('the gap', async () => told.lastIndexOf('gap') > told.indexOf('lost'))
    await until('the end of the loss', async () => told.lastIndexOf('restored') > told.lastIndexOf('lost'))
    const renewed = await until('the log line', async () =>
      lines.find((line) => JSON.stringify(line).includes('revocations_renewed')),
    )
    t.strictSame(renewed, [
      { event: 'revocations_renewed', grants: 1 },
      'Redis lost acknowledged revocations; the server wrote these revocations again',
    ])
  },
)
