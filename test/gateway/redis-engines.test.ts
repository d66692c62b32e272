import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { openRateLimiter } from '../../gateway/limits/open-rate-limiter.ts'
import { writeRevocation } from '../../oauth/revocation.ts'
import { publisherKey, REVOCATION_FIELD, revocationStream } from '../../platform/redis/revocation-keys.ts'
import { openSharedRedis } from '../../platform/redis/shared-redis.ts'
import { compileRateLimit } from '../../policy-engine/format/rate-limit.ts'
import { BASE_URL, POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aRevocation } from '../fixtures/a-revocation.ts'
import { startCluster } from '../fixtures/redis-cluster.ts'
import { send } from '../fixtures/send.ts'
import { SILENT_LOGGER } from '../fixtures/silent-logger.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { type ReceivedSpan, startTraceReceiver } from '../fixtures/trace-receiver.ts'
import { until } from '../fixtures/until.ts'

const folder = t.testdir({ cluster: {}, volatile: {} })
const cluster = await startCluster(join(folder, 'cluster'), { replicas: false })
t.teardown(() => cluster.stop())
const connection = { cluster: { addresses: cluster.addresses } }

t.test('gateways on a Redis Cluster enforce one limit together, and their keys use all shards', async (t) => {
  const open = async () => {
    const shared = await openSharedRedis({
      ...connection,
      logger: SILENT_LOGGER,
      tickMs: () => performance.now(),
      commandTimeoutMs: 20_000,
    })
    t.teardown(() => shared.close())
    const onFallback = (reason: string) => t.fail(`decided alone: ${reason}`)
    return openRateLimiter({ shared, tickMs: () => performance.now(), onFallback })
  }
  const limiters = [await open(), await open()] as const
  const limit = compileRateLimit('test/route', { requests: 5, perMs: 3_600_000, by: 'client' })
  for (const key of ['a', 'b', 'c']) {
    const states = await Promise.all(
      Array.from({ length: 40 }, (_, index) => limiters[index % 2 === 0 ? 0 : 1].take(limit, key)),
    )
    t.equal(states.filter(({ allowed }) => allowed).length, 5)
  }
  await Promise.all(Array.from({ length: 300 }, (_, index) => limiters[0].take(limit, `caller ${index}`)))
  for (const count of await cluster.countKeys()) t.ok(count > 70, `${count} keys`)
})

t.test('a gateway reads revocations from revocationRedis, and all other data from redis', async (t) => {
  const volatile = await startRedis({ folder: join(folder, 'volatile') })
  const redis = new Redis(volatile.url)
  t.teardown(async () => {
    redis.disconnect()
    await volatile.stop()
  })
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, redis: { url: volatile.url }, revocationRedis: connection }),
  })
  const statusOf = async (token: string): Promise<number> => {
    const response = await fetch(`${under.gateway.url}/api/courses`, {
      headers: { authorization: `Bearer ${token}` },
    })
    await response.arrayBuffer()
    return response.status
  }
  const [, owner] = cluster.nodes
  await owner?.redis.set(publisherKey(BASE_URL), '1')
  await until('listening for revocations', async () =>
    under.log().some((line) => line['event'] === 'revocations_connected' && line['channel'] === 'redis'),
  )
  under.issuer.store('one', { scope: 'courses:read', grant: 'A-grant' })
  under.issuer.store('two', { scope: 'courses:read', grant: 'B-grant' })
  t.equal(await statusOf('one'), 200)
  t.equal(await statusOf('two'), 200)
  await until(
    'the token status is shared',
    async () => (await redis.keys('scopegate:verdict:*')).length === 2,
  )
  t.strictSame(await redis.keys('{scopegate*'), [], 'nothing of the authorization server')
  const revocation = writeRevocation(
    aRevocation({ issuer: BASE_URL, grant: 'A-grant', expiresAtSeconds: 99_999_999_999 }),
  )
  // The stream of the partition for grant IDs that begin with A.
  const stream = revocationStream('{scopegate:00}')
  await Promise.any(cluster.nodes.map(({ redis }) => redis.xadd(stream, '*', REVOCATION_FIELD, revocation)))
  await until('rejected', async () => (await statusOf('one')) === 401)
  t.equal(await statusOf('two'), 200)
  const ready = await (await fetch(`${under.gateway.managementUrl}/readyz?verbose`)).text()
  t.match(ready, /\[\+\] redis\n[\s\S]*\[\+\] revocation redis\n/)
})

t.test('a command to a Redis Cluster has a client span with the address of its primary', async (t) => {
  const receiver = await startTraceReceiver(t)
  const paths = Array.from({ length: 12 }, (_, index) => `/limited/${index}`)
  const limited = paths.map(
    (path, index) =>
      `  - { name: limited-${index}, match: { methods: [GET], path: ${path} }, rateLimit: { requests: 1000, per: 1h, by: route } }\n`,
  )
  const { gateway } = await startGatewayUnderTest(t, {
    policy: POLICY + limited.join(''),
    change: (config) => ({ ...config, redis: connection, tracing: { endpoint: receiver.url } }),
  })
  const successful = () => receiver.spans().filter(({ name, hasError }) => / redis$/.test(name) && !hasError)
  const portOf = ({ attributes }: ReceivedSpan) => attributes['server.port']
  // The gateway then probes the cluster, reads its slots and connects again. These commands have no spans.
  for (const node of cluster.nodes) node.freeze()
  for (const path of paths) await send(`${gateway.url}${path}`)
  for (const node of cluster.nodes) node.thaw()
  await until('commands to all primaries', async () => {
    // The gateway counts alone while the cluster does not respond in time, so one request for each key is not enough.
    for (const path of paths) await send(`${gateway.url}${path}`)
    return new Set(successful().map(portOf)).size === cluster.nodes.length
  })
  await gateway.close() // exports all spans
  const ports = cluster.nodes.map(({ port }) => port)
  t.strictSame([...new Set(successful().map(portOf))].sort(), ports.toSorted())
  for (const { name, kind, parentSpanId, traceId, attributes } of successful()) {
    t.match(name, /^EVAL(SHA)? redis$/)
    t.match(attributes, { 'db.system.name': 'redis', 'server.address': '127.0.0.1' })
    const parent = receiver.spans().find(({ spanId }) => spanId === parentSpanId)
    t.match({ kind, parent }, { kind: 3, parent: { kind: 2, name: /^GET \/limited\//, traceId } })
  }
})
