import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { openStore } from '../../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import type { LoggedRevocation } from '../../../authorization-server/store/store.ts'
import { TOKEN_CONFIG, TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

function open(t: Test) {
  const clock = { now: 1_000 }
  const file = join(t.testdir(), 'store.sqlite')
  const store = openSqliteStore(file, { ...TOKEN_SETTINGS, nowSeconds: () => clock.now })
  const database = new DatabaseSync(file)
  t.teardown(async () => {
    database.close()
    await store.close()
  })
  const rows = (sql: string) =>
    database
      .prepare(sql)
      .all()
      .map((row) => Object.values(row))
  return { clock, file, store, database, rows }
}

t.test('openStore() names the file of the data folder', async (t) => {
  const dataDir = t.testdir()
  const store = await openStore(
    { ...TOKEN_CONFIG, store: { type: 'sqlite' }, dataDir, redis: undefined },
    { nowSeconds: () => 1_000 },
  )
  t.teardown(() => store.close())
  const database = new DatabaseSync(join(dataDir, 'authorization-server.sqlite'), { readOnly: true })
  t.teardown(() => database.close())
  t.equal(database.prepare('pragma user_version').get()?.['user_version'], 8)
})

t.test('an artifact has exactly the expected columns', async (t) => {
  const { store, rows } = open(t)
  const payload = { jti: 'a', grantId: 'g', uid: 'u', userCode: 'c', accountId: 'account', consumed: 7 }
  await store.artifacts('AccessToken').upsert('a', payload, 60)
  await store.artifacts('Client').upsert('b', {}, undefined)
  await store.artifacts('Interaction').upsertBounded('c', {}, 60, {
    source: { address: 'address', network: 'network' },
    bound: { perAddress: 1, total: 1 },
  })
  await store.artifacts('ReplayDetection').claim('d', 60)
  const columns = 'model, id, grant_id, uid, user_code, account_id, consumed_at, expires_at, source, address'
  t.strictSame(rows(`select ${columns} from artifacts order by rowid`), [
    [
      ...['AccessToken', hashId('a'), hashId('g'), hashId('u'), hashId('c'), 'account'],
      ...[7, 1_060, null, null],
    ],
    ['Client', hashId('b'), null, null, null, null, null, null, null, null],
    ['Interaction', hashId('c'), null, null, null, null, null, 1_060, hashId('network'), hashId('address')],
    ['ReplayDetection', hashId('d'), null, null, null, null, null, 1_060, null, null],
  ])
  await store.artifacts('AccessToken').upsert('a', { jti: 'a', grantId: 'h', uid: 'v', userCode: 'd' }, 70)
  t.strictSame(rows(`select ${columns} from artifacts where model = 'AccessToken'`), [
    [...['AccessToken', hashId('a'), hashId('h'), hashId('v'), hashId('d'), null], ...[7, 1_070, null, null]],
  ])
})

t.test('a probe writes one artifact with an expiry, and later writes wait for a lock again', async (t) => {
  const { file, store, rows } = open(t)
  t.equal(await store.probe(), undefined)
  await store.probe()
  t.strictSame(rows('select model, id, payload, expires_at from artifacts'), [
    ['WriteProbe', hashId('probe'), '{}', 1_060],
  ])
  const holder = new Worker(
    `const { DatabaseSync } = require('node:sqlite')
    const { parentPort, workerData } = require('node:worker_threads')
    const database = new DatabaseSync(workerData)
    database.exec('begin immediate')
    parentPort.postMessage('locked')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    database.exec('commit')
    database.close()`,
    { eval: true, workerData: file },
  )
  await once(holder, 'message')
  await store.artifacts('Session').upsert('s', {}, 60)
  t.ok(await store.artifacts('Session').find('s'))
  await once(holder, 'exit')
})

t.test('findByUid() and findByUserCode() return the newest artifact', async (t) => {
  const { clock, store } = open(t)
  for (const id of ['one', 'two']) {
    await store.artifacts('Session').upsert(id, { uid: 'u', id }, 60)
    await store.artifacts('DeviceCode').upsert(id, { userCode: 'c', id }, 60)
  }
  t.strictSame(await store.artifacts('Session').findByUid('u'), { uid: 'u', id: 'two' })
  t.strictSame(await store.artifacts('DeviceCode').findByUserCode('c'), { userCode: 'c', id: 'two' })
  t.equal(await store.artifacts('Client').findByUid('u'), undefined)
  clock.now = 1_060
  t.equal(await store.artifacts('Session').findByUid('u'), undefined)
  t.equal(await store.artifacts('DeviceCode').findByUserCode('c'), undefined)
  t.match(await store.artifacts('Session').find('two', { expired: true }), { uid: 'u' })
})

t.test('a consumed artifact has the time of its use, also after an exchange', async (t) => {
  const { clock, store } = open(t)
  for (const id of ['one', 'two']) await store.artifacts('RefreshToken').upsert(id, { jti: id }, 60)
  clock.now = 1_007
  await store.artifacts('RefreshToken').consume('one')
  await store.exchange({ model: 'RefreshToken', id: 'two' }, [
    { model: 'AccessToken', id: 'new', payload: { jti: 'new' }, expiresInSeconds: 5 },
  ])
  for (const id of ['one', 'two'])
    t.strictSame(await store.artifacts('RefreshToken').find(id), { jti: id, consumed: 1_007 })
  clock.now = 1_011
  t.ok(await store.artifacts('AccessToken').find('new'))
  clock.now = 1_012
  t.equal(await store.artifacts('AccessToken').find('new'), undefined)
})

t.test(
  'the revocation log has exactly the expected entries for an ended grant and a removed account',
  async (t) => {
    const { store, rows } = open(t)
    await store.artifacts('AccessToken').upsert('a', { jti: 'a', grantId: 'g' }, 60)
    await store.artifacts('Grant').revokeByGrantId('g')
    await store.accounts.insert({
      id: 'account-1',
      username: 'carol',
      name: 'Carol',
      email: undefined,
      passwordHash: 'phc',
      origin: 'development',
      createdAtSeconds: 7,
    })
    t.strictSame(rows('select * from accounts'), [
      ['account-1', 'carol', 'Carol', null, 'phc', 'development', 7, null, null, null, null, null],
    ])
    await store.accounts.remove('account-1')
    t.strictSame(rows('select id, revoked_at, payload from revocations'), [
      [1, 1_000, `{"iss":"https://api.test","grant":"${hashId('g')}","at":1000,"exp":1900}`],
      [
        2,
        1_000,
        `{"iss":"https://api.test","subject":"${hashId('https://api.test\naccount-1')}","at":253402300799,"exp":1900}`,
      ],
    ])
    const [[epoch] = []] = rows('select epoch from revocation_epoch')
    t.match(await store.revocations.lastId(), new RegExp(`^${epoch}\\.2\\.[0-9a-f]{16}$`))
  },
)

t.test('a reader at the end of an empty log can resume, and an altered ID cannot', async (t) => {
  const { store } = open(t)
  const start = await store.revocations.lastId()
  t.same(await store.revocations.readAfter(start, 10), [])
  const [epoch, , digest] = start.split('.')
  t.match(start, /^[0-9a-f]{16}\.0\.e3b0c44298fc1c14$/)
  for (const id of [`${epoch}.0.${digest}0`, `${epoch}x.0.${digest}`, `.0.${digest}`])
    t.equal(await store.revocations.readAfter(id, 10), undefined, id)
})

t.test('sweep() keeps the last entry, and deletes entries by age', async (t) => {
  const { clock, store, rows } = open(t)
  for (const grantId of ['a', 'b', 'c']) {
    clock.now += 1
    await store.artifacts('AccessToken').upsert(grantId, { grantId }, 60)
    await store.artifacts('Grant').revokeByGrantId(grantId)
  }
  await store.sweep(2_202)
  t.strictSame(rows('select id, revoked_at from revocations'), [
    [2, 1_002],
    [3, 1_003],
  ])
  await store.sweep(99_999)
  t.strictSame(rows('select id from revocations'), [[3]])
})

t.test('sweep() keeps an entry for tokens with an earlier, longer lifetime', async (t) => {
  const { store, database, rows } = open(t)
  database.exec(`insert into revocations (revoked_at, payload)
    values (1000, '{"grant":"a","exp":4600}'), (1000, 'unreadable'), (1000, '{"grant":"b","exp":1900}'), (1000, '{}')`)
  await store.sweep(2_202)
  t.strictSame(rows('select id from revocations'), [[1], [4]])
  await store.sweep(4_900)
  t.strictSame(rows('select id from revocations'), [[1], [4]])
  await store.sweep(4_901)
  t.strictSame(rows('select id from revocations'), [[4]])
})

t.test('sweep() keeps the newest 100,000 entries', async (t) => {
  const { store, database, rows } = open(t)
  database.exec(`with recursive n (i) as (select 1 union all select i + 1 from n where i < 100003)
    insert into revocations (revoked_at, payload) select 1000, '{}' from n`)
  await store.sweep(1_000)
  t.strictSame(rows('select min(id), count(*) from revocations'), [[4, 100_000]])
})

t.test('a follower gets at most 1000 entries in one batch, and a gap for more entries', async (t) => {
  const { store, database } = open(t)
  const told: unknown[] = []
  const stop = await store.revocations.follow({
    revoked: (logged: readonly LoggedRevocation[]) => void told.push(logged.length),
    gap: () => void told.push('gap'),
    lost: () => void told.push('lost'),
  })
  const insert = (count: number) =>
    database.exec(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into revocations (revoked_at, payload) select 1000, '{"grant":"g"}' from n`)
  insert(1_000)
  await until('the first entries', async () => told.length === 1)
  insert(1_001)
  await until('the gap', async () => told.length === 2)
  t.strictSame(told, [1_000, 'gap'])
  stop()
  const again: unknown[] = []
  await store.revocations.follow({
    revoked: (logged) => void again.push(logged.length),
    gap: () => void again.push('gap'),
    lost: () => undefined,
  })
  insert(1)
  await until('a new follower starts the polling again', async () => again.length === 1)
  t.strictSame(again, [1])
  t.equal(told.length, 2, 'a stopped follower receives nothing')
})

t.test('listByOrigin() sorts by user name, and separates the origins', async (t) => {
  const { store } = open(t)
  const rest = { name: 'N', email: undefined, passwordHash: 'phc', createdAtSeconds: 7 }
  for (const [username, origin] of [
    ['zoe', 'development'],
    ['amy', 'development'],
    ['bea', 'operator'],
  ] as const)
    await store.accounts.insert({ id: `id-${username}`, username, origin, ...rest })
  t.strictSame(
    (await store.accounts.listByOrigin('development')).map(({ username, origin }) => [username, origin]),
    [
      ['amy', 'development'],
      ['zoe', 'development'],
    ],
  )
  t.strictSame(await store.accounts.listByOrigin('operator'), [
    { id: 'id-bea', username: 'bea', origin: 'operator', ...rest },
  ])
  await store.accounts.setPasswordHash('id-amy', 'new')
  t.equal((await store.accounts.findById('id-amy'))?.passwordHash, 'new')
  t.equal((await store.accounts.findById('id-zoe'))?.passwordHash, 'phc')
})

t.test('a follower gets a revocation of its own process before the revocation returns', async (t) => {
  const { store } = open(t)
  const told: unknown[] = []
  await store.revocations.follow({
    revoked: (logged) => void told.push(...logged.map(({ revocation }) => revocation.grant)),
    gap: () => void told.push('gap'),
    lost: () => void told.push('lost'),
  })
  for (const grantId of ['a', 'b']) {
    await store.artifacts('AccessToken').upsert(grantId, { grantId }, 60)
    await store.artifacts('Grant').revokeByGrantId(grantId)
    t.equal(told.at(-1), hashId(grantId))
  }
  t.equal(told.length, 2)
})

t.test('a destroyed artifact is gone, and a closed store is closed once', async (t) => {
  const { store, rows } = open(t)
  await store.artifacts('Session').upsert('s', {}, 60)
  await store.artifacts('Session').destroy('s')
  t.strictSame(rows('select * from artifacts'), [])
  await store.close()
  await store.close()
  await t.rejects(store.artifacts('Session').find('s'), { code: 'ERR_STORE_UNAVAILABLE' })
})
