import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { redisKeys } from '../../../authorization-server/store/redis.ts'
import { openRedisStore } from '../../../authorization-server/store/redis-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { isMarkedRevoked } from '../../../gateway/tokens/revocation/revoked-tokens.ts'
import { followRedisRevocations } from '../../../platform/redis/follow-redis-revocations.ts'
import { PARTITIONED } from '../../../platform/redis/key-layout.ts'
import { openRedis } from '../../../platform/redis/redis.ts'
import { aCaller } from '../../fixtures/a-caller.ts'
import { startCluster } from '../../fixtures/redis-cluster.ts'
import { documentedBlock } from '../../fixtures/repository-texts.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

const cluster = await startCluster(t.testdir(), { replicas: false })
const connection = { cluster: { addresses: cluster.addresses } }
/** For hundreds of concurrent commands. On a busy machine, they take longer than the default timeout of one second. */
const patient = { ...connection, commandTimeoutMs: 20_000 }
const redis = await openRedis(connection)
t.teardown(async () => {
  redis.disconnect()
  await cluster.stop()
})

async function open(t: Test, to = connection): Promise<Store> {
  await cluster.empty()
  return openAgain(t, [], to)
}

async function openAgain(t: Test, lines: unknown[] = [], to = connection): Promise<Store> {
  const write = (line: unknown) => void lines.push(line)
  const store = await openRedisStore(to, {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
    logger: { warn: write, info: write },
  })
  t.teardown(() => store.close())
  return store
}

/** Until the end of the test, each shard responds even if other shards are unavailable. */
async function setCoverage(t: Test): Promise<void> {
  const set = (value: string) =>
    Promise.all(cluster.nodes.map((node) => node.redis.config('SET', 'cluster-require-full-coverage', value)))
  await set('no')
  t.teardown(async () => {
    await until('all nodes are there', async () => {
      const infos = await Promise.all(cluster.nodes.map((node) => node.redis.call('CLUSTER', 'INFO')))
      return infos.every((info) => String(info).includes('cluster_slots_ok:16384'))
    })
    await set('yes')
  })
}

type Node = (typeof cluster.nodes)[number]

/**
 * Begins to move the slot of a key. Moves only this key.
 * @returns a function that moves the other keys.
 */
async function beginMove(key: string, from: Node, to: Node): Promise<() => Promise<void>> {
  const slot = String(await from.redis.call('CLUSTER', 'KEYSLOT', key))
  const migrate = (keys: readonly string[]) =>
    from.redis.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys)
  await to.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id)
  await from.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id)
  await migrate([key])
  return async () => {
    await migrate((await from.redis.call('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as string[])
    for (const node of [to, from, ...cluster.nodes])
      await node.redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id)
  }
}

async function nodeOf(key: string) {
  for (const node of cluster.nodes) if (await node.redis.exists(key).then(Boolean, () => false)) return node
  return undefined
}

t.test('2,000 grants are distributed evenly over three shards', async (t) => {
  const store = await open(t, patient)
  const writeGrant = async (index: number): Promise<void> => {
    const grantId = `grant-${index}`
    await store.artifacts('Grant').upsert(grantId, { jti: grantId }, 600)
    for (const model of ['AccessToken', 'RefreshToken'])
      await store.artifacts(model).upsert(`${model}-${index}`, { grantId, accountId: 'a' }, 600)
  }
  for (let from = 0; from < 2_000; from += 100)
    await Promise.all(Array.from({ length: 100 }, (_, index) => writeGrant(from + index)))
  const counts = await cluster.countKeys()
  const total = counts.reduce((sum, count) => sum + count, 0)
  t.ok(total > 10_000, `${total} keys`)
  for (const count of counts) t.ok(count / total > 0.3 && count / total < 0.37, `${count} of ${total}`)
})

t.test(
  'the artifacts of a grant are in the partition of the grant, and their IDs lead to this partition',
  async (t) => {
    const store = await open(t)
    const grant = hashId('g')
    const tag = PARTITIONED.tagOf(grant)
    const id = Array.from({ length: 9 }, (_, index) => `token-${index}`).find(
      (one) => PARTITIONED.tagOf(hashId(one)) !== tag,
    ) as string
    const tokens = store.artifacts('AccessToken')
    await tokens.upsert(id, { jti: id, grantId: 'g' }, 60)
    const idHash = hashId(id)
    const key = redisKeys(tag).artifact('AccessToken', idHash)
    const pointer = redisKeys(PARTITIONED.tagOf(idHash)).artifact('AccessToken', idHash)
    t.equal(await redis.hget(key, 'p'), '{"grantId":"g","jti":null}')
    t.strictSame(await redis.hgetall(pointer), { g: tag })
    for (const one of [key, pointer, redisKeys(tag).grant(grant)]) {
      const left = await redis.ttl(one)
      t.ok(left > 50 && left <= 60, `${one}: ${left} s`)
    }
    t.strictSame(await tokens.find(id), { jti: id, grantId: 'g' })
    await redis.del(key)
    t.equal(await tokens.find(id), undefined, 'a pointer without an artifact')
    t.equal(await tokens.consume(id), false)
    await tokens.upsert(id, { jti: id, grantId: 'g' }, 60)
    await tokens.destroy(id)
    t.equal(await redis.exists(key), 0)
    t.equal(await redis.exists(pointer), 0)
  },
)

t.test(
  'an artifact stays consumed when it gets a grant later, and is still found without its grant',
  async (t) => {
    const store = await open(t)
    const codes = store.artifacts('DeviceCode')
    for (let index = 0; index < 4; index++) {
      const id = `code-${index}`
      await codes.upsert(id, { jti: id }, 60)
      t.equal(await codes.consume(id), true)
      await codes.upsert(id, { jti: id, grantId: 'g' }, 60)
      t.match(await codes.find(id), { grantId: 'g', consumed: Number })
      t.equal(await codes.consume(id), false)
      await codes.upsert(id, { jti: id, accountId: 'a' }, 60)
      t.match(await codes.find(id), { accountId: 'a' })
    }
  },
)

t.test('one of 100 concurrent refreshes succeeds, and writes in one step', async (t) => {
  const store = await open(t, patient)
  for (let round = 0; round < 10; round++) {
    const grantId = `g${round}`
    await store.artifacts('RefreshToken').upsert(`r${round}`, { grantId }, 60)
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        store.exchange({ model: 'RefreshToken', id: `r${round}` }, [
          { model: 'AccessToken', id: `a${round}-${index}`, payload: { grantId }, expiresInSeconds: 60 },
          { model: 'RefreshToken', id: `r${round}-${index}`, payload: { grantId }, expiresInSeconds: 60 },
        ]),
      ),
    )
    const winner = results.indexOf(true)
    t.equal(results.filter(Boolean).length, 1)
    t.ok(await store.artifacts('AccessToken').find(`a${round}-${winner}`))
    t.equal(await store.artifacts('AccessToken').find(`a${round}-${(winner + 1) % 100}`), undefined)
  }
})

t.test('a revocation removes the grant, writes its key, and reaches a follower', async (t) => {
  const store = await open(t)
  const told: (string | undefined)[] = []
  let gaps = 0
  let alive = 0
  const follower = await followRedisRevocations({
    ...connection,
    fromStart: true,
    onEntries: (entries) => void told.push(...entries.map(({ revocation }) => revocation?.grant)),
    onGap: () => {
      gaps += 1
    },
    onAlive: async () => {
      alive += 1
    },
  })
  t.teardown(() => follower.close())
  await until('the follower is connected', async () => alive > 0)
  t.equal(gaps, 1, 'the gap at the start')
  const grants = Array.from({ length: 20 }, (_, index) => `g${index}`)
  for (const grantId of grants) {
    await store.artifacts('AccessToken').upsert(`of ${grantId}`, { grantId }, 60)
    await store.artifacts('Interaction').upsert(`for ${grantId}`, { grantId }, 60)
    await store.artifacts('Grant').revokeByGrantId(grantId)
    t.equal(await store.artifacts('AccessToken').find(`of ${grantId}`), undefined)
    t.equal(await store.artifacts('Interaction').find(`for ${grantId}`), undefined)
    t.equal(await isMarkedRevoked(redis, aCaller({ grant: hashId(grantId) })), true)
  }
  await until('all entries are received', async () => told.length === grants.length)
  t.strictSame(new Set(told), new Set(grants.map(hashId)))
  t.equal(await isMarkedRevoked(redis, aCaller({ grant: hashId('other') })), false)
})

t.test(
  'a follower finds an entry without a notification, and reports a gap for a deleted stream',
  async (t) => {
    await cluster.empty()
    const told: (string | undefined)[] = []
    let gaps = 0
    let alive = 0
    const follower = await followRedisRevocations({
      ...connection,
      fromStart: true,
      onEntries: (entries) => void told.push(...entries.map(({ revocation }) => revocation?.grant)),
      onGap: () => {
        gaps += 1
      },
      onAlive: async () => {
        alive += 1
      },
    })
    t.teardown(() => follower.close())
    await until('the follower is connected', async () => alive > 0)
    const stream = `${PARTITIONED.tagOf('x')}:revocations`
    await redis.xadd(stream, '*', 'r', '{"iss":"https://a.test","grant":"x1"}')
    await until('the entry is received', async () => told.length === 1)
    await redis.del(stream)
    await redis.xadd(stream, '*', 'r', '{"iss":"https://a.test","grant":"x2"}')
    await until('the other entry is received', async () => told.includes('x2'))
    t.equal(gaps, 2)
  },
)

t.test(
  'the server writes lost revocations again on the other shards while one shard is unavailable',
  async (t) => {
    await setCoverage(t)
    const store = await open(t)
    const ignore = () => undefined
    let received = 0
    await store.revocations.follow({
      revoked: ({ length }) => {
        received += length
      },
      ...{ gap: ignore, lost: ignore },
    })
    const grants = Array.from({ length: 30 }, (_, index) => `lost-${index}`)
    const tokens = store.artifacts('AccessToken')
    for (const grantId of grants) {
      await tokens.upsert(grantId, { jti: grantId, grantId }, 600)
      await store.artifacts('Grant').revokeByGrantId(grantId)
      await tokens.upsert(grantId, { jti: grantId, grantId }, 600) // simulates that Redis has lost the revocation
    }
    const [sick, ...healthy] = cluster.nodes
    /** Returns the number of grants with tokens on these nodes. */
    const count = async (nodes: typeof cluster.nodes) => {
      const keys = await Promise.all(nodes.map((node) => node.redis.keys('*:of-grant:*')))
      return keys.flat().length
    }
    t.ok((await count(healthy)) > 0)
    t.ok((await count(cluster.nodes)) > (await count(healthy)))
    const saved: {
      readonly node: (typeof cluster.nodes)[number]
      readonly key: string
      readonly value: Buffer
    }[] = []
    for (const node of healthy)
      for (const key of await node.redis.keys('*:of-grant:*'))
        saved.push({ node, key, value: await node.redis.dumpBuffer(key) })
    const grantsEnd = () =>
      until('the grants of the other shards have ended', async () => (await count(healthy)) === 0, 20_000)
    /**
     * Deletes the streams of the healthy nodes. The server reports a gap for a deleted stream only if it has read an
     * entry of this stream.
     */
    const loseStreams = async () => {
      for (const node of healthy)
        for (const stream of await node.redis.keys('*:revocations')) await node.redis.del(stream)
    }
    await until('the server has read the streams', async () => received >= grants.length)
    received = 0
    sick?.freeze()
    t.teardown(() => sick?.thaw())
    await loseStreams()
    await grantsEnd()
    await until('the server has read the new entries', async () => received >= saved.length)
    for (const { node, key, value } of saved) await node.redis.restore(key, 0, value)
    await loseStreams()
    await grantsEnd()
    sick?.thaw()
    await until('all grants have ended', async () => (await count(cluster.nodes)) === 0)
    for (const grantId of grants) t.equal(await tokens.find(grantId), undefined)
  },
)

t.test(
  'the error of a start without the shard of the accounts names the setting of the cluster',
  async (t) => {
    await setCoverage(t)
    const sick = await nodeOf('{scopegate}:schema')
    sick?.freeze()
    t.teardown(() => sick?.thaw())
    await t.rejects(openAgain(t), {
      name: 'BootError',
      code: /^ERR_REDIS_(UNREACHABLE|CLUSTER_DOWN)$/,
      message: /redis\.cluster/,
    })
  },
)

t.test('the position of a reader is valid at another server, and not after another process', async (t) => {
  const store = await open(t)
  const other = await openAgain(t)
  const revoke = async (grantId: string) => {
    await store.artifacts('AccessToken').upsert(`of ${grantId}`, { grantId }, 60)
    await store.artifacts('Grant').revokeByGrantId(grantId)
  }
  await revoke('before')
  const from = await store.revocations.lastId()
  t.match(from, /^[0-9a-f]{32}\.[0-9a-z_-]{63,1000}$/)
  for (const grant of ['a', 'b', 'c']) await revoke(grant)
  const logged = (await other.revocations.readAfter(from, 10)) ?? []
  t.strictSame(
    new Set(logged.map(({ revocation }) => revocation.grant)),
    new Set(['a', 'b', 'c'].map(hashId)),
  )
  t.strictSame(await other.revocations.readAfter(logged.at(-1)?.id ?? '', 10), [])
  t.equal((await other.revocations.readAfter(logged[0]?.id ?? '', 10))?.length, 2)
  t.equal(await other.revocations.readAfter(from, 2), undefined, 'more than the limit')
  for (const id of ['', 'x', from.replace(/^../, 'zz'), `${from}_`, from.split('.')[0] ?? ''])
    t.equal(await other.revocations.readAfter(id, 10), undefined, id)
})

t.test(
  'a replay contains the revocations of this issuer that still apply, and fails after an unreadable entry',
  async (t) => {
    const store = await open(t)
    const nowMs = Date.now()
    const own = (grant: string) => JSON.stringify({ iss: TOKEN_SETTINGS.issuer, grant, at: 1 })
    const add = (at: number, ageSeconds: number, entry: string) =>
      redis.xadd(`${PARTITIONED.tags[at]}:revocations`, `${nowMs - ageSeconds * 1_000}-*`, 'r', entry)
    for (let index = 0; index < 5; index++) await add(index, 7_200, own(`expired-${index}`))
    const exp = Math.round(nowMs / 1_000) + 600
    for (let index = 0; index < 9; index++) await add(4, 7_200, own(`expired-${index}`))
    // This entry still applies, because the server wrote the entry while tokens had a longer lifetime.
    await add(4, 7_200, JSON.stringify({ iss: TOKEN_SETTINGS.issuer, grant: 'longer', at: 1, exp }))
    for (let index = 0; index < 3; index++)
      await add(index, 600, '{"iss":"https://other.test","grant":"x","at":1}')
    await add(4, 600, own('applies'))
    const all = await store.revocations.readAfter(undefined, 4)
    t.match(all, [{ revocation: { grant: 'longer' } }, { revocation: { grant: 'applies' } }])
    await add(5, 0, own('new'))
    const resumed = await store.revocations.readAfter(all?.at(-1)?.id, 9)
    t.match(resumed?.at(-1), { revocation: { grant: 'new' } }, 'the id of a replayed entry is a position')
    await add(6, 0, 'unreadable')
    t.equal(await store.revocations.readAfter(undefined, 9), undefined)
  },
)

t.test('list() returns each grant and session while a slot moves to another shard', async (t) => {
  const store = await open(t)
  const account = { name: 'Name', email: undefined, origin: 'operator', createdAtSeconds: 1 } as const
  const ids = Array.from({ length: 40 }, (_, index) => `id-${index}`)
  for (const accountId of ['a', 'b'])
    await store.accounts.insert({ ...account, id: accountId, username: accountId })
  const first = cluster.nodes.toSorted((one, two) => (String(one.port) < String(two.port) ? -1 : 1))[0]
  for (const model of ['Grant', 'Session']) {
    for (const [index, id] of ids.entries())
      await store.artifacts(model).upsert(id, { jti: id, accountId: index % 2 ? 'a' : 'b' }, 600)
    const keys = ids.map((id) => redisKeys(PARTITIONED.tagOf(hashId(id))).artifact(model, hashId(id)))
    let moved: { readonly key: string; readonly from: Node } | undefined
    for (const key of keys) {
      const from = await nodeOf(key)
      if (from !== undefined && from !== first) moved = { key, from }
    }
    if (first === undefined || moved === undefined) throw new Error('all keys are on one node')
    const found = new Set<string>()
    let cursor: string | undefined
    let finish: (() => Promise<void>) | undefined
    do {
      const { listed, next } = await store.artifacts(model).list(cursor)
      for (const { idHash } of listed) found.add(idHash)
      finish ??= await beginMove(moved.key, moved.from, first)
      cursor = next
    } while (cursor !== undefined)
    t.strictSame(found, new Set(ids.map(hashId)), `${model}: before the move`)
    const during = await store.artifacts(model).list()
    await finish()
    const after = await store.artifacts(model).list()
    for (const { listed } of [during, after])
      t.strictSame(new Set(listed.map(({ idHash }) => idHash)), new Set(ids.map(hashId)), model)
    await (await beginMove(moved.key, first, moved.from))()
  }
})

t.test('the next sweep completes an interrupted removal of an account', async (t) => {
  const store = await open(t)
  const account = {
    id: 'gone',
    username: 'gone',
    name: 'Gone',
    email: undefined,
    passwordHash: 'phc',
    origin: 'operator',
    createdAtSeconds: 1,
  } as const
  for (const isInterrupted of [false, true]) {
    t.equal(await store.accounts.insert(account), true)
    for (const grantId of ['g1', 'g2', 'g3'])
      await store.artifacts('RefreshToken').upsert(`of ${grantId}`, { grantId, accountId: 'gone' }, 60)
    await store.artifacts('Session').upsert('s', { accountId: 'gone' }, 60)
    if (isInterrupted) {
      // Simulates a server that stopped after the first step of the removal.
      const keys = redisKeys('{scopegate}')
      await redis.del(keys.account('gone'), keys.username('gone'))
      await redis.sadd(keys.removals, 'gone')
      await store.sweep(1_000)
    } else await store.accounts.remove('gone')
    t.equal(await store.accounts.findByUsername('gone'), undefined)
    for (const grantId of ['g1', 'g2', 'g3'])
      t.equal(await store.artifacts('RefreshToken').find(`of ${grantId}`), undefined)
    t.equal(await store.artifacts('Session').find('s'), undefined)
    t.equal(await redis.scard(redisKeys('{scopegate}').removals), 0)
    const mark = { issuer: TOKEN_SETTINGS.issuer, subject: 'gone', grant: undefined }
    t.equal(await isMarkedRevoked(redis, aCaller(mark)), true)
  }
})

t.test(
  'data of one server are complete after the documented copy with redis-cli and the move into the partitions',
  async (t) => {
    await cluster.empty()
    const source = await startRedis({ folder: t.testdir() })
    t.teardown(() => source.stop())
    const old = await openRedisStore({ url: source.url }, { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 })
    const account = {
      id: 'a',
      username: 'carol',
      name: 'Carol',
      email: undefined,
      passwordHash: 'phc',
      origin: 'operator',
      createdAtSeconds: 1,
    } as const
    await old.accounts.insert(account)
    const grants = Array.from({ length: 20 }, (_, index) => `g${index}`)
    for (const grantId of grants) {
      await old.artifacts('Grant').upsert(grantId, { jti: grantId, accountId: 'a' }, 600)
      await old.artifacts('RefreshToken').upsert(`of ${grantId}`, { jti: `of ${grantId}`, grantId }, 600)
    }
    await old.close()
    const client = new Redis(source.url)
    t.teardown(() => client.disconnect())
    const before = await client.dbsize()
    const command = documentedBlock('docs/connect-redis.md', 'redis-cli --cluster import')
      .replace('redis-0:6379', String(cluster.addresses[0]))
      .replace('old-redis:6379', `127.0.0.1:${source.port}`)
    await promisify(execFile)('bash', ['-euc', command])
    t.equal(await client.dbsize(), before, 'the old server keeps its data')

    const store = await openAgain(t)
    t.strictSame(await store.accounts.findByUsername('carol'), account)
    for (const grantId of grants) {
      t.match(await store.artifacts('Grant').find(grantId), { accountId: 'a' })
      t.equal(await store.artifacts('RefreshToken').consume(`of ${grantId}`), true)
    }
    for (const count of await cluster.countKeys()) t.ok(count > 0, `${count} keys`)
  },
)

t.test('data of schema version 1 moves into the partitions at the first start', async (t) => {
  await cluster.empty()
  // Schema version 1 stores all data in the slot of {scopegate}. This node has the slot.
  const url = `redis://127.0.0.1:${cluster.nodes[1]?.port}`
  const options = { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 }
  const old = await openRedisStore({ url }, options)
  const tokens = { grantId: 'g', accountId: 'a' }
  await old.artifacts('Grant').upsert('g', { jti: 'g', accountId: 'a' }, undefined)
  await old.artifacts('RefreshToken').upsert('used', { jti: 'used', ...tokens }, 600)
  await old.artifacts('RefreshToken').consume('used')
  await old.artifacts('Session').upsert('s', { uid: 'u', accountId: 'a' }, 600)
  await old.artifacts('Client').upsert('c', { client_id: 'c' }, undefined)
  await old.artifacts('Interaction').upsertBounded('i', { uid: 'i', ...tokens }, 600, {
    source: { address: 'a', network: 'n' },
    bound: { perAddress: 5, total: 5 },
  })
  await old.artifacts('AccessToken').upsert('t', { grantId: 'ended' }, 600)
  await old.artifacts('Grant').revokeByGrantId('ended')
  await old.close()
  const lines: unknown[] = []
  const [store, second] = await Promise.all([openAgain(t, lines), openAgain(t, lines)])
  t.match(lines, [{ event: 'store_moved', version: 2 }])
  t.equal(lines.length, 1, 'by one server')
  t.match(await store.artifacts('Grant').find('g'), { jti: 'g' })
  t.match(await second.artifacts('RefreshToken').find('used'), { jti: 'used', consumed: Number, ...tokens })
  t.match(await store.artifacts('Session').findByUid('u'), { uid: 'u' })
  t.match(await store.artifacts('Interaction').findByUid('i'), { uid: 'i' })
  t.match(await store.artifacts('Client').find('c'), { client_id: 'c' })
  t.equal(await isMarkedRevoked(redis, aCaller({ grant: hashId('ended') })), true)
  await store.artifacts('Grant').revokeByGrantId('g')
  t.equal(await store.artifacts('RefreshToken').find('used'), undefined, 'in the set of its grant')
  t.equal(await store.artifacts('Interaction').find('i'), undefined)
  await t.rejects(openRedisStore({ url }, options), {
    code: 'ERR_STORE_LAYOUT',
    message: `Redis at ${url} has the data of a Redis Cluster (schema version 2). Name nodes of the cluster in redis.cluster.addresses instead of redis.url (REDIS_URL).`,
  })
})
