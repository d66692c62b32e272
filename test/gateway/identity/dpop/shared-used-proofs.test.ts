import t from 'tap'
import { openProofs } from '../../../../gateway/identity/dpop/open-proofs.ts'
import { openSharedRedis } from '../../../../gateway/redis/shared-redis.ts'
import { createLogger } from '../../../../runtime/logger.ts'
import { startRedis } from '../../../fixtures/start-redis.ts'
import { until } from '../../../fixtures/until.ts'

// F6: Redis is frozen, ends and comes back: proofs are refused that were seen here, and nobody waits for long.
t.test('a Redis that hangs, ends and comes back: a proof seen here is never good again', async (t) => {
  const folder = t.testdir()
  const redis = await startRedis({ folder })
  let alone = 0
  const events: unknown[] = []
  const logger = createLogger(
    { level: 'info', service: 'test' },
    { write: (line) => void events.push(JSON.parse(line)['event']) },
  )
  const shared = await openSharedRedis({ url: redis.url, logger, tickMs: () => performance.now() })
  t.teardown(shared.close)
  const proofs = openProofs({
    shared,
    nonceSecret: undefined,
    onAlone: () => {
      alone += 1
    },
  })
  const now = Date.now() / 1_000
  const use = (id: string) => proofs.used.use(id, now + 60, now)

  t.equal(await use('first'), true)
  t.equal(await use('first'), false)
  redis.freeze()
  for (let count = 0; count < 8; count += 1) {
    t.equal(await use(`frozen ${count}`), true)
    t.equal(await use(`frozen ${count}`), false)
  }
  t.ok(alone >= 8, 'each of them was counted')
  t.ok(events.includes('redis_given_up'), 'it is asked no more after five failures, and that is said')
  redis.thaw()
  await until('Redis is asked again', async () => {
    await use(`asked ${performance.now()}`)
    return events.includes('redis_used_again')
  })
  t.equal(await use('frozen 1'), false)

  await redis.stop()
  t.equal(await use('gone'), true)
  t.equal(await use('gone'), false)
  t.equal(await use('first'), false)
  const again = await startRedis({ folder, port: redis.port })
  t.teardown(again.stop)
  t.equal(await use('gone'), false, 'what Redis forgot is known here')
})
