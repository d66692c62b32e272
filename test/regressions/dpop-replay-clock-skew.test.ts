// On a machine with a slow clock, a proof is valid for longer. Before the fix, Redis removed the proof when the proof
// was too old for the first gateway.
import { Redis } from 'ioredis'
import t from 'tap'
import { createSharedUsedProofs } from '../../gateway/tokens/binding/shared-used-proofs.ts'
import { createLogger } from '../../platform/logging/logger.ts'
import { openSharedRedis } from '../../platform/redis/shared-redis.ts'
import { startRedis } from '../fixtures/start-redis.ts'

const logger = createLogger({ level: 'info', service: 'test' }, { write: () => undefined })

t.test('Redis keeps a used proof for one minute longer than the gateway accepts the proof', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  const shared = await openSharedRedis({ url: redis.url, logger, tickMs: () => performance.now() })
  const spy = new Redis(redis.url)
  t.teardown(async () => {
    shared.close()
    spy.disconnect()
    await redis.stop()
  })
  const used = createSharedUsedProofs({
    shared,
    onAlone: () => t.fail('Redis is there'),
    logger,
    failures: { failed: () => undefined },
    timeoutMs: 60_000, // long, because the machine may be busy
  })
  for (const [id, ageSeconds, longestMs] of [
    ['new', 0, 120_000],
    ['in its last second', 60, 60_000],
    ['of a clock that is ahead', -60, 180_000],
  ] as const) {
    const startedMs = performance.now()
    t.equal(await used.use(id, 1_060 - ageSeconds, 1_000), true, id)
    const leftMs = await spy.pttl(`scopegate:dpop:${id}`)
    t.ok(leftMs <= longestMs, `${id}: ${leftMs} ms`)
    t.ok(leftMs > longestMs - (performance.now() - startedMs) - 2, `${id}: ${leftMs} ms`)
  }
})
