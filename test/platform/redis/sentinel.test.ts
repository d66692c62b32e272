import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { followRedisRevocations } from '../../../platform/redis/follow-redis-revocations.ts'
import { openRedis } from '../../../platform/redis/redis.ts'
import type { RedisClient } from '../../../platform/redis/redis-client.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { startSentinels } from '../../fixtures/redis-sentinel.ts'
import { documentedBlock } from '../../fixtures/repository-texts.ts'
import { until } from '../../fixtures/until.ts'

const sentinels = await startSentinels(t.testdir())
t.teardown(() => sentinels.stop())
/** Permissions of the ACL user of the Sentinels in docs/connect-redis.md. */
const SENTINEL_RULES = documentedBlock('docs/connect-redis.md', '+switch-master')
  .trim()
  .split(' ')
  .slice('ACL SETUSER scopegate on >PASSWORD'.split(' ').length)
const sentinel = { name: sentinels.name, addresses: sentinels.addresses }

t.test('explains an unknown name, Sentinels that cannot be reached, and wrong credentials', async (t) => {
  const port = await quietPort()
  const list = sentinels.addresses.join(', ')
  for (const mayBeAway of [true, false])
    await t.rejects(openRedis({ sentinel: { ...sentinel, name: 'other' }, mayBeAway }), {
      code: 'ERR_REDIS_SENTINEL',
      message: `Redis at other of Sentinel ${list} cannot be found: no Sentinel monitors a primary of this name. Correct redis.sentinel.name.`,
    })
  await t.rejects(openRedis({ sentinel: { name: 'main', addresses: [`127.0.0.1:${port}`] } }), {
    code: 'ERR_REDIS_UNREACHABLE',
    message: /cannot be reached \(failed to connect to sentinel.*redis\.sentinel\.addresses\.$/,
  })
  const admin = new Redis({ port: Number(sentinels.addresses[0]?.split(':')[1]), host: '127.0.0.1' })
  await admin.call('ACL', 'SETUSER', 'default', 'resetpass', '>s3cret')
  await t.rejects(openRedis({ sentinel: { ...sentinel, addresses: sentinel.addresses.slice(0, 1) } }), {
    code: 'ERR_REDIS_REFUSED',
    message: /Check redis\.sentinel\.username and redis\.sentinel\.passwordFile\.$/,
  })
  await admin.call('ACL', 'SETUSER', 'default', 'nopass')
  admin.disconnect()
})

t.test(
  'an optional Redis without a reachable Sentinel connects as soon as a Sentinel is available',
  async (t) => {
    const port = await quietPort()
    const redis = await openRedis({
      sentinel: { name: 'main', addresses: [`127.0.0.1:${port}`] },
      mayBeAway: true,
    })
    t.teardown(() => redis.disconnect())
    await t.rejects(redis.ping())
    t.not(redis.status, 'end', 'the client continues to try')
  },
)

t.test(
  'clients connect to the new primary when the old primary stays writable after a failover',
  async (t) => {
    const own = await startSentinels(t.testdir({ password: 's3cret' }))
    t.teardown(() => own.stop())
    const admins = own.addresses.map((address) => new Redis(`redis://${address}`))
    t.teardown(() => {
      for (const one of admins) one.disconnect()
    })
    for (const one of admins)
      await one.call('ACL', 'SETUSER', 'scopegate', 'on', '>s3cret', ...SENTINEL_RULES)
    const login = { username: 'scopegate', passwordFile: join(t.testdirName, 'password') }
    const options = { sentinel: { name: own.name, addresses: own.addresses, ...login } }
    const portOf = async (client: RedisClient): Promise<number> =>
      Number(/tcp_port:(\d+)/.exec(await client.info('server'))?.[1])
    const redis = await openRedis(options)
    t.teardown(() => redis.disconnect())
    let readerPort = 0
    const reader = await followRedisRevocations({
      ...options,
      fromStart: true,
      onEntries: () => undefined,
      onGap: () => undefined,
      onAlive: async (client) => {
        readerPort = await portOf(client)
      },
    })
    t.teardown(() => reader.close())
    const port = await own.primaryPort()
    await until('the reader is connected', async () => readerPort === port)
    // Without these permissions, the Sentinels can neither make the old primary a replica nor close its connections.
    const admin = new Redis({ port, host: '127.0.0.1' })
    t.teardown(() => admin.disconnect())
    await admin.call('ACL', 'SETUSER', 'default', '-replicaof', '-slaveof')
    await admins[0]?.call('SENTINEL', 'FAILOVER', own.name)
    const next = await own.nextPrimary(port)
    const nextMs = performance.now()
    await until('the client is at the new primary', async () => (await portOf(redis).catch(() => 0)) === next)
    t.comment(`${(performance.now() - nextMs).toFixed(0)} ms after the new primary`)
    await until('the reader is at the new primary', async () => readerPort === next)
    t.equal(await redis.set('key', 'after'), 'OK')
    t.equal((redis as Redis).options.port, next, 'diagnostics name the new primary')
    t.equal((await admin.role())[0], 'master', 'the old primary accepts writes')
    t.equal(await admin.get('key'), null)
  },
)

t.test('the delay of an attempt to reconnect has a random part', async (t) => {
  const redis = await openRedis({ sentinel })
  t.teardown(() => redis.disconnect())
  for (const [random, delayMs] of [
    [0, 500],
    [0.5, 400],
  ] as const) {
    const restore = t.intercept(Math, 'random', { value: () => random, configurable: true })
    const { retryStrategy, sentinelRetryStrategy } = (redis as Redis).options
    t.same([retryStrategy?.(2), sentinelRetryStrategy?.(2)], [delayMs, delayMs])
    restore()
  }
})

t.test('writes work again within 2 s after a failover', async (t) => {
  const redis = await openRedis({ sentinel })
  t.teardown(() => redis.disconnect())
  await redis.set('key', 'before')
  const port = await sentinels.primaryPort()
  const [primary] = sentinels.servers.filter((one) => one.port === port)
  await primary?.stop()
  const written = (async () => {
    await until('a write', async () => (await redis.set('key', 'after').catch(() => undefined)) === 'OK')
    return performance.now()
  })()
  await sentinels.nextPrimary(port)
  const promotedMs = performance.now()
  const tookMs = (await written) - promotedMs
  t.comment(`${tookMs.toFixed(0)} ms after the new primary`)
  t.equal(await redis.get('key'), 'after')
})
