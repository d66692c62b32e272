// npm run soak:revocation: three gateways, one Redis, one authorization server. Measures the time from the response to
// POST /api/oauth/revoke until all three gateways deny the token, with and without the revocation channel.
// Limits for p99: 1 s with the channel, `tokenCache.ttlWithoutPush` without the channel.
// After a restart of all services, the gateways must still deny every revoked token.
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
const CAP_MS = 5_000
/** Number of tokens revoked together while the channel is down. Each round waits for `tokenCache.ttlWithoutPush`. */
const CONCURRENCY = 20
const ROUNDS = REVOCATIONS / CONCURRENCY

await runSoak(async ({ folder, cleanup }) => {
  const redisFolder = join(folder, 'redis')
  mkdirSync(redisFolder)
  let redis = await startRedis({ folder: redisFolder, keepsData: true })
  cleanup.add(() => redis.stop())
  const restartRedis = async (): Promise<void> => {
    redis = await startRedis({ folder: redisFolder, port: redis.port, keepsData: true })
  }
  const way = await startFaultProxy(redis.port)
  cleanup.add(() => way.close())
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    gateways: 3,
    servers: 1,
    redis: { ofServers: redis.url, ofGateways: `redis://127.0.0.1:${way.port}` },
    eventStream: false,
    // With `staleIfError`, the gateways would accept known tokens while Redis is stopped (npm run soak:availability).
    gatewaySettings: { SCOPEGATE_ISSUERS__0__STALE_IF_ERROR: '0s' },
  })
  await awaitChannel(cluster, 'up')
  const pushed = await measureRevocations(cluster, { rounds: REVOCATIONS, until: 'denied' })
  console.log(`${REVOCATIONS} revoked while the stream was connected`)

  const cut = await measureRevocations(cluster, {
    rounds: ROUNDS,
    concurrency: CONCURRENCY,
    before: () => way.down(),
    until: 'denied',
    after: async () => {
      await way.up()
      await awaitChannel(cluster, 'up')
    },
  })
  const revoked = [...pushed.tokens, ...cut.tokens]
  const came = [
    { after: 'the connection to Redis was restored', passed: await countPassed(cluster, revoked) },
  ]
  console.log(`${REVOCATIONS} revoked while the gateways could not reach Redis`)

  const stopped = await measureRevocations(cluster, {
    rounds: ROUNDS,
    concurrency: CONCURRENCY,
    before: () => redis.stop(),
    until: 'not passed',
    after: async () => {
      await restartRedis()
      await cluster.servers[0]?.ready()
      await awaitChannel(cluster, 'up')
    },
  })
  console.log(`${REVOCATIONS} sent to be revoked while Redis was stopped`)
  came.push({ after: 'Redis was restarted', passed: await countPassed(cluster, revoked) })
  for (const [index, gateway] of cluster.gateways.entries()) {
    await gateway.restart()
    came.push({
      after: `gateway ${index + 1} was restarted`,
      passed: await countPassed(cluster, revoked),
    })
  }
  await cluster.servers[0]?.restart()
  came.push({
    after: 'the authorization server was restarted',
    passed: await countPassed(cluster, revoked),
  })

  return [
    ...rowsOf('stream connected', pushed, PUSHED_P99_MS),
    ...rowsOf('gateways cut off from Redis', cut, CAP_MS),
    ...rowsOf('Redis stopped', stopped, CAP_MS, 503),
    ...came.map(({ after, passed }) =>
      measuredCount(`of ${revoked.length} rejected tokens, accepted after ${after}`, passed, 0),
    ),
  ]
})

function rowsOf(
  what: string,
  { timesMs, answers }: RevocationTimes,
  limitMs: number,
  wanted = 200,
): readonly Measurement[] {
  const withoutLimit = (name: string, ms: number): Measurement => ({
    what: `${what}: ${name} until all three gateways reject`,
    measured: `${ms.toFixed(0)} ms`,
    limit: 'none',
    passed: undefined,
  })
  const p99 = readPercentile(timesMs, 0.99)
  return [
    measuredCount(`${what}: revocations with response ${wanted}`, answers.get(wanted) ?? 0, timesMs.length),
    withoutLimit('p50', readPercentile(timesMs, 0.5)),
    { ...withoutLimit('p99', p99), limit: `<= ${limitMs} ms`, passed: p99 <= limitMs },
    withoutLimit('max', Math.max(...timesMs)),
  ]
}
