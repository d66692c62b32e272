import t from 'tap'
import { createLogger } from '../../../platform/logging/logger.ts'
import { openSharedRedis } from '../../../platform/redis/shared-redis.ts'
import { startFaultProxy } from '../../fixtures/fault-proxy.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

t.test('a handshake that is slower than the command deadline still establishes a connection', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  const proxy = await startFaultProxy(redis.port)
  const events: string[] = []
  const logger = createLogger(
    { level: 'warn', service: 'test' },
    { write: (line) => void events.push(JSON.parse(line).msg) },
  )
  proxy.toClient({ latencyMs: 100 })
  const shared = await openSharedRedis({
    url: `redis://127.0.0.1:${proxy.port}`,
    logger,
    tickMs: () => performance.now(),
  })
  t.teardown(async () => {
    shared.close()
    await proxy.close()
    await redis.stop()
  })
  t.equal(shared.unavailableReason(), undefined)
  t.same(events, [], 'no failure')
  await t.rejects(shared.redis.ping(), /timed out/, 'commands keep their deadline of 75 ms')
  t.equal(await shared.send('ping', []), 'PONG', 'send() has no deadline')

  proxy.reset()
  await until('the connection is lost', async () => shared.unavailableReason() === 'away')
  await t.rejects(shared.send('ping', []), 'send() rejects without a connection')
  await until('the connection is made again', async () => shared.unavailableReason() !== 'away')
  await t.rejects(shared.redis.ping(), /timed out/)
})
