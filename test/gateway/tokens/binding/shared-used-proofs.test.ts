import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { createSharedUsedProofs } from '../../../../gateway/tokens/binding/shared-used-proofs.ts'
import type { UsedProofs } from '../../../../gateway/tokens/binding/used-proofs.ts'
import { createFailureLog } from '../../../../platform/logging/failure-log.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import { openSharedRedis } from '../../../../platform/redis/shared-redis.ts'
import { startFaultProxy } from '../../../fixtures/fault-proxy.ts'
import { startRedis } from '../../../fixtures/start-redis.ts'
import { until } from '../../../fixtures/until.ts'

const now = Date.now() / 1_000
const BUSY_MACHINE_MS = 60_000

type Replica = {
  readonly used: UsedProofs
  use(id: string): Promise<boolean>
  /** Number of proofs that only this replica has stored. */
  readonly alone: number
  readonly events: readonly string[]
  readonly lines: readonly Readonly<Record<string, unknown>>[]
}

async function aReplica(t: Test, url: string, timeoutMs?: number): Promise<Replica> {
  const lines: Record<string, unknown>[] = []
  let alone = 0
  const logger = createLogger(
    { level: 'info', service: 'test' },
    {
      write(line) {
        const fields = JSON.parse(line)
        if (String(fields.event).startsWith('dpop_')) lines.push(fields)
      },
    },
  )
  const shared = await openSharedRedis({ url, logger, tickMs: () => performance.now() })
  const failures = createFailureLog(logger)
  t.teardown(() => {
    failures.close()
    shared.close()
  })
  const used = createSharedUsedProofs({
    shared,
    onAlone: () => {
      alone += 1
    },
    logger,
    failures,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
  return {
    used,
    use: async (id) => used.use(id, now + 60, now),
    get alone() {
      return alone
    },
    get events() {
      return lines.map(({ event }) => String(event))
    },
    lines,
  }
}

t.test('two replicas accept a proof once while a Redis call of one replica is slow', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  const proxy = await startFaultProxy(redis.port)
  t.teardown(async () => {
    await proxy.close()
    await redis.stop()
  })
  const slow = await aReplica(t, `redis://127.0.0.1:${proxy.port}`, BUSY_MACHINE_MS)
  const fast = await aReplica(t, redis.url, BUSY_MACHINE_MS)
  for (let round = 0; round < 100; round++) {
    if (round % 2 === 0) proxy.toTarget({ latencyMs: 100 })
    else proxy.toClient({ latencyMs: 100 })
    const id = `proof ${round}`
    const first = slow.use(id)
    const outcomes = await Promise.all([first, fast.use(id)])
    proxy.heal()
    t.equal(outcomes.filter((isFirst) => isFirst).length, 1, id)
  }
  t.equal(slow.alone + fast.alone, 0)
})

t.test(
  'while Redis is frozen, one proof waits for its response, and each replica stores its own proofs',
  async (t) => {
    const redis = await startRedis({ folder: t.testdir() })
    t.teardown(redis.stop)
    const one = await aReplica(t, redis.url, 200)
    const other = await aReplica(t, redis.url, BUSY_MACHINE_MS)
    await until('Redis is used', async () => (await one.use(`warm ${performance.now()}`)) && one.alone === 0)
    redis.freeze()
    t.equal(await one.use('first'), true)
    for (let count = 0; count < 20; count++) {
      const outcome = one.used.use(`frozen ${count}`, now + 60, now)
      t.equal(outcome, true, 'immediately, because a call is overdue')
      t.equal(await one.use(`frozen ${count}`), false, 'a proof that this replica has seen is a replay')
    }
    t.equal(one.alone, 21)
    t.same(one.events, ['dpop_replays_local'], 'logged once')
    redis.thaw()
    await until('Redis is used again', async () => {
      const before = one.alone
      const id = `again ${performance.now()}`
      return (await one.use(id)) && one.alone === before && !(await other.use(id))
    })
    t.equal(one.events.at(-1), 'dpop_replays_shared')
    t.equal(await other.use('first'), false, 'the overdue call has arrived')
    t.equal(await one.use('frozen 1'), false)
  },
)

t.test('without a connection each replica stores its own proofs', async (t) => {
  const folder = t.testdir()
  const redis = await startRedis({ folder })
  const one = await aReplica(t, redis.url)
  t.equal(await one.use('before'), true)
  await redis.stop()
  await until('the connection is lost', async () => {
    await one.use(`lost ${performance.now()}`)
    return one.alone > 0
  })
  t.equal(await one.use('gone'), true)
  t.equal(await one.use('gone'), false)
  t.equal(await one.use('before'), false)
  const again = await startRedis({ folder, port: redis.port })
  t.teardown(again.stop)
  t.equal(await one.use('gone'), false, 'the replica still has the proof that Redis lost')
})

t.test('a Redis call no longer counts as overdue after its connection has ended', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  const proxy = await startFaultProxy(redis.port)
  t.teardown(async () => {
    await proxy.close()
    await redis.stop()
  })
  const one = await aReplica(t, `redis://127.0.0.1:${proxy.port}`, 100)
  const other = await aReplica(t, redis.url, BUSY_MACHINE_MS)
  proxy.toClient({ blackHole: true })
  t.equal(await one.use('lost'), true)
  t.equal(one.alone, 1)
  proxy.heal()
  proxy.reset()
  await until('Redis is used again', async () => {
    const before = one.alone
    const id = `again ${performance.now()}`
    return (await one.use(id)) && one.alone === before && !(await other.use(id))
  })
  t.equal(await other.use('lost'), false, 'Redis had stored it')
})

t.test('an error of Redis is logged with its code, and the next proof uses Redis again', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(redis.stop)
  const admin = new Redis(redis.url)
  t.teardown(() => admin.disconnect())
  const one = await aReplica(t, redis.url, BUSY_MACHINE_MS)
  const other = await aReplica(t, redis.url, BUSY_MACHINE_MS)
  await admin.config('SET', 'maxmemory', '1')
  t.equal(await one.use('full'), true)
  t.equal(await one.use('full'), false, 'this replica detects the replay')
  t.equal(await one.use('full too'), true)
  t.equal(one.alone, 2)
  t.equal(one.lines.length, 1, 'repeated failures are counted')
  t.match(one.lines[0], {
    level: 'warn',
    event: 'dpop_proof_not_stored',
    reason: 'OOM',
    err: { message: /^OOM / },
  })
  await admin.config('SET', 'maxmemory', '0')
  t.equal(await one.use('stored'), true)
  t.equal(await other.use('stored'), false, 'the next proof is shared again')
  t.equal(one.alone, 2)
  t.same(one.events, ['dpop_proof_not_stored'], 'Redis was never unavailable')
})

t.test('an error of a server that has become a replica is logged with its code', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(redis.stop)
  const admin = new Redis(redis.url)
  t.teardown(() => admin.disconnect())
  const one = await aReplica(t, redis.url, BUSY_MACHINE_MS)
  await admin.replicaof('127.0.0.1', '1')
  t.equal(await one.use('read-only'), true)
  t.match(one.lines, [{ event: 'dpop_proof_not_stored', reason: 'READONLY' }])
})
