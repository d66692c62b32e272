import { Redis } from 'ioredis'
import t from 'tap'
import { openRedis } from '../../../platform/redis/redis.ts'
import { startSentinels } from '../../fixtures/redis-sentinel.ts'
import { quietPort } from '../../fixtures/start-scopegate.ts'
import { until } from '../../fixtures/until.ts'

const sentinels = await startSentinels(t.testdir())
t.teardown(() => sentinels.stop())
const sentinel = { name: sentinels.name, addresses: sentinels.addresses }

t.test('explains an unknown name, Sentinels that cannot be reached, and wrong credentials', async (t) => {
  const port = await quietPort()
  const list = sentinels.addresses.join(', ')
  for (const mayBeAway of [true, false])
    await t.rejects(openRedis({ sentinel: { ...sentinel, name: 'other' }, mayBeAway }), {
      code: 'ERR_REDIS_SENTINEL',
      message: `Redis at other of Sentinel ${list} cannot be found: no Sentinel knows a primary of this name. Correct redis.sentinel.name.`,
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

t.test('without a Sentinel, an optional Redis connects when a Sentinel is available', async (t) => {
  const port = await quietPort()
  const redis = await openRedis({
    sentinel: { name: 'main', addresses: [`127.0.0.1:${port}`] },
    mayBeAway: true,
  })
  t.teardown(() => redis.disconnect())
  await t.rejects(redis.ping())
  t.not(redis.status, 'end', 'the client continues to try')
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
