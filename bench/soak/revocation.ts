// npm run soak:revocation: three gateways, one Redis, one authorization server. The time from the answer of
// POST /api/oauth/revoke until all three refuse; the same without the channel. Bars: p99 under 1 s; within the cap.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startFaultProxy } from '../../test/fixtures/fault-proxy.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import { countPassed, measureRevocations, type RevocationTimes } from './measure-revocations.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import { awaitChannel, startRevocationCluster } from './revocation-cluster.ts'
import { runSoak } from './run-soak.ts'

const REVOCATIONS = 200
const PUSHED_P99_MS = 1_000
/** `tokenCache.ttlWithoutPush`, and what it takes to ask once more on a busy machine. */
const CAP_MS = 5_000
const QUESTION_MS = 500
const AT_ONCE = 20

await runSoak(async ({ folder, cleanup }) => {
  const redisFolder = join(folder, 'redis')
  mkdirSync(redisFolder)
  const redis = await startRedis({ folder: redisFolder, keepsData: true })
  cleanup.add(() => redis.stop())
  const way = await startFaultProxy(redis.port)
  cleanup.add(() => way.close())
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    gateways: 3,
    servers: 1,
    redis: { ofServers: redis.url, ofGateways: `redis://127.0.0.1:${way.port}` },
    eventStream: false,
  })
  await awaitChannel(cluster, 'up')
  const pushed = await measureRevocations(cluster, { rounds: REVOCATIONS, until: 'denied' })
  console.log(`${REVOCATIONS} revoked with the channel up`)

  const cut = await measureRevocations(cluster, {
    rounds: 1,
    atOnce: AT_ONCE,
    before: () => way.down(),
    until: 'denied',
  })
  await way.up()
  await awaitChannel(cluster, 'up')
  const again = await countPassed(cluster, [...pushed.tokens, ...cut.tokens])
  console.log(`${AT_ONCE} revoked while the gateways could not reach Redis`)

  const stopped = await measureRevocations(cluster, {
    rounds: 1,
    atOnce: AT_ONCE,
    before: () => redis.stop(),
    until: 'not passed',
  })
  const restarted = await startRedis({ folder: redisFolder, port: redis.port, keepsData: true })
  cleanup.add(() => restarted.stop())
  await awaitChannel(cluster, 'up')
  const afterwards = await countPassed(cluster, [...pushed.tokens, ...cut.tokens])

  return [
    ...rowsOf('channel up', pushed, PUSHED_P99_MS),
    ...rowsOf('gateways cut off from Redis', cut, CAP_MS + QUESTION_MS),
    ...rowsOf('Redis stopped', stopped, CAP_MS + QUESTION_MS, 503),
    measuredCount('refused tokens that passed after the way to Redis was back', again, 0),
    measuredCount('refused tokens that passed after Redis was restarted', afterwards, 0),
  ]
})

function rowsOf(
  what: string,
  { timesMs, answers }: RevocationTimes,
  barMs: number,
  wanted = 200,
): readonly Measurement[] {
  const told = (name: string, ms: number): Measurement => ({
    what: `${what}: ${name} until all three refuse`,
    measured: `${ms.toFixed(0)} ms`,
    bar: 'none',
    held: undefined,
  })
  const p99 = readPercentile(timesMs, 0.99)
  return [
    measuredCount(`${what}: revocations answered with ${wanted}`, answers.get(wanted) ?? 0, timesMs.length),
    told('p50', readPercentile(timesMs, 0.5)),
    { ...told('p99', p99), bar: `<= ${barMs} ms`, held: p99 <= barMs },
    told('max', Math.max(...timesMs)),
  ]
}
