import { join } from 'node:path'
import type { Cluster } from 'ioredis'
import t, { type Test } from 'tap'
import { PARTITIONED } from '../../../platform/redis/key-layout.ts'
import { openRedis } from '../../../platform/redis/redis.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { startCluster } from '../../fixtures/redis-cluster.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

const folder = t.testdir({ cluster: {}, single: {} })
const cluster = await startCluster(join(folder, 'cluster'))
t.teardown(() => cluster.stop())
const connection = { cluster: { addresses: cluster.addresses } }
const [first, second] = cluster.nodes

/** Opens a client that records the lines of its log. */
async function openLogged(t: Test) {
  const lines: Record<string, unknown>[] = []
  const write = (line: object): void => void lines.push({ ...line })
  const redis = (await openRedis({ ...connection, logger: { warn: write, info: write } })) as Cluster
  t.teardown(() => redis.disconnect())
  const writeAll = () =>
    Promise.all(PARTITIONED.tags.map((tag) => redis.set(`${tag}:key`, '1'))).then(
      () => true,
      () => false,
    )
  return { redis, lines, writeAll }
}

async function everyNodeSays(state: string): Promise<boolean> {
  const texts = await Promise.all(cluster.nodes.map(({ redis }) => redis.call('CLUSTER', 'INFO')))
  return texts.every((text) => String(text).includes(state))
}

t.test('the partitions are distributed evenly over 3 to 12 shards', async (t) => {
  const slots = await Promise.all(
    PARTITIONED.tags.map(async (tag) => Number(await first?.redis.call('CLUSTER', 'KEYSLOT', tag))),
  )
  for (const [shards, least, most] of [
    [3, 20, 23],
    [4, 16, 16],
    [6, 9, 13],
    [12, 3, 7],
  ] as const) {
    const counts = Array.from(
      { length: shards },
      (_, shard) => slots.filter((slot) => Math.floor((slot * shards) / 16_384) === shard).length,
    )
    t.strictSame([Math.min(...counts), Math.max(...counts)], [least, most], `${shards} shards`)
  }
})

t.test('the delay of an attempt to reconnect has a random part', async (t) => {
  const redis = (await openRedis(connection)) as Cluster
  t.teardown(() => redis.disconnect())
  for (const [random, delayMs] of [
    [0, 500],
    [0.5, 400],
  ] as const) {
    const restore = t.intercept(Math, 'random', { value: () => random, configurable: true })
    t.equal(redis.options.clusterRetryStrategy?.(1), delayMs)
    restore()
  }
})

t.test(
  'explains an address of a single server, a cluster that is not complete, and a node as a server',
  async (t) => {
    const port = await quietPort()
    await t.rejects(openRedis({ cluster: { addresses: [`127.0.0.1:${port}`] } }), {
      code: 'ERR_REDIS_UNREACHABLE',
      message: `Redis at cluster 127.0.0.1:${port} cannot be reached (ECONNREFUSED). Start Redis, or correct redis.cluster.addresses.`,
    })
    const single = await startRedis({ folder: join(folder, 'single') })
    t.teardown(() => single.stop())
    await t.rejects(openRedis({ cluster: { addresses: [`127.0.0.1:${single.port}`] } }), {
      code: 'ERR_REDIS_NO_CLUSTER',
      message: /is not a Redis Cluster\. Use redis\.url or redis\.sentinel/,
    })
    const outside = cluster.nodes[0] // the slot of {scopegate} belongs to the second node
    await t.rejects(openRedis({ url: `redis://127.0.0.1:${outside?.port}` }), {
      code: 'ERR_REDIS_CLUSTER_NODE',
      message: `Redis at redis://127.0.0.1:${outside?.port} is one node of a Redis Cluster. Name nodes in redis.cluster.addresses instead of redis.url (REDIS_URL).`,
    })
    for (const { redis } of cluster.nodes)
      await redis.call('ACL', 'SETUSER', 'default', 'resetpass', '>s3cret')
    await t.rejects(openRedis(connection), {
      code: 'ERR_REDIS_REFUSED',
      message: `Redis at cluster ${cluster.addresses.join(', ')} denied access (NOAUTH). Check redis.username and redis.passwordFile.`,
    })
    for (const { redis } of cluster.nodes) await redis.call('ACL', 'SETUSER', 'default', 'nopass', '-info')
    const printed = t.capture(console, 'warn')
    const withoutInfo = await openRedis(connection)
    t.equal(await withoutInfo.exists('{scopegate}:a'), 0)
    withoutInfo.disconnect()
    t.same(printed(), [], 'no warning without the permission for INFO')
    for (const { redis } of cluster.nodes) await redis.call('ACL', 'SETUSER', 'default', '+info')
    // Removes the slot from all nodes, because the client can read the cluster state from any node.
    for (const { redis } of cluster.nodes) await redis.call('CLUSTER', 'DELSLOTSRANGE', '8000', '8000')
    await until('all nodes know that a slot has no primary', () => everyNodeSays('cluster_state:fail'))
    await t.rejects(openRedis({ cluster: { addresses: [`127.0.0.1:${second?.port}`] } }), {
      code: 'ERR_REDIS_CLUSTER_DOWN',
      message: /is not complete \(CLUSTERDOWN\): some slots have no primary\..*redis\.cluster/,
    })
    await second?.redis.call('CLUSTER', 'ADDSLOTSRANGE', '8000', '8000')
    await until('the cluster is complete', () => everyNodeSays('cluster_state:ok'))
  },
)

t.test('follows MOVED, ASK and TRYAGAIN while a slot moves', async (t) => {
  const redis = await openRedis(connection)
  t.teardown(() => redis.disconnect())
  const tag = '{scopegate}'
  const slot = String(await first?.redis.call('CLUSTER', 'KEYSLOT', tag))
  const [from, to] = [second, first]
  await redis.mset(`${tag}:a`, '1', `${tag}:b`, '2')
  await to?.redis.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from?.id ?? '')
  await from?.redis.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to?.id ?? '')
  await from?.redis.migrate('127.0.0.1', to?.port ?? 0, `${tag}:a`, 0, 1_000)
  t.equal(await redis.get(`${tag}:a`), '1', 'ASK')
  t.equal(await redis.set(`${tag}:new`, '1'), 'OK', 'ASK')
  const both = redis.mget(`${tag}:a`, `${tag}:b`)
  await from?.redis.migrate('127.0.0.1', to?.port ?? 0, `${tag}:b`, 0, 1_000)
  t.strictSame(await both, ['1', '2'], 'TRYAGAIN')
  for (const node of [to, from]) await node?.redis.call('CLUSTER', 'SETSLOT', slot, 'NODE', to?.id ?? '')
  t.equal(await redis.get(`${tag}:b`), '2', 'MOVED')
})

t.test('after a failover, writes to all shards work again within 2 s, and no command hangs', async (t) => {
  const { lines, writeAll } = await openLogged(t)
  t.equal(await writeAll(), true)
  const [, , third] = cluster.nodes
  const replica = cluster.nodes[5]
  await third?.kill()
  const written = until('writes to all shards', writeAll).then(() => performance.now())
  await until('the replica is the primary', async () => (await replica?.redis.role())?.[0] === 'master')
  const promotedMs = performance.now()
  t.comment(`${((await written) - promotedMs).toFixed(0)} ms after the new primary`)
  await until('the log reports the end of the loss', async () => lines.at(-1)?.['event'] === 'redis_back')
  t.strictSame(lines[0], { event: 'redis_lost', redis: `127.0.0.1:${third?.port}` })
  t.strictSame(lines.at(-1), { event: 'redis_back', redis: `127.0.0.1:${replica?.port}` })
})

t.test('after the loss of two primaries, the log reports the end only when both are connected', async (t) => {
  const { redis, lines, writeAll } = await openLogged(t)
  const isBack = (): boolean => lines.at(-1)?.['event'] === 'redis_back'
  const third = cluster.nodes[5] // the primary since the failover, without a replica
  await Promise.all([second?.kill(), third?.kill()]) // the remaining primary cannot elect a replica
  await until('the log reports both losses', async () => lines.length >= 2)
  await second?.start()
  const isConnected = (): boolean =>
    redis.nodes('master').some(({ options, status }) => options.port === second?.port && status === 'ready')
  await until('one lost primary is connected', async () => (await writeAll()) || isConnected())
  t.equal(isBack(), false)
  await third?.start()
  await until('writes to all shards', writeAll)
  await until('the log reports the end of the loss', async () => isBack())
})
