// npm run soak:revocation: three gateways, one Redis, one authorization server. Measures the time from the response of
// POST /api/oauth/revoke to the last request that a gateway accepted, with and without the revocation channel. Limits:
// with the channel, p99 under 1 s. Without the channel, `tokenCache.ttlWithoutPush` for opaque tokens and
// `jwt.maxRevocationDelay` for JWTs. Without the channel and the authorization server, `tokenCache.maxTtl` and
// `staleIfError`. After a restart of all services, the gateways must still reject every revoked token.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type FaultProxy, startFaultProxy } from '../../test/fixtures/fault-proxy.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import type { Cleanup } from '../cleanup.ts'
import {
  awaitIntrospection,
  countPassed,
  measureRevocations,
  type RevocationTimes,
} from './measure-revocations.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import { awaitChannel, type RevocationClusterOptions, startRevocationCluster } from './revocation-cluster.ts'
import { runSoak } from './run-soak.ts'

const REVOCATIONS = 200
const PUSHED_P99_MS = 1_000
const CAP_MS = 5_000
/**
 * The test revokes this number of tokens together while the channel is down, because each round waits for
 * `tokenCache.ttlWithoutPush`.
 */
const CONCURRENCY = 20
const ROUNDS = REVOCATIONS / CONCURRENCY
/** Settings of the bounds without a revocation channel. CAP_MS is the sum of the first two settings. */
const MAX_TTL = '2s'
const STALE_IF_ERROR = '3s'
const MAX_REVOCATION_DELAY = '15s'
const JWT_CAP_MS = 15_000

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
  console.log(`${REVOCATIONS} tokens revoked while the stream was connected`)

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
  console.log(`${REVOCATIONS} tokens revoked while the gateways could not reach Redis`)

  const stopped = await measureRevocations(cluster, {
    rounds: ROUNDS,
    concurrency: CONCURRENCY,
    before: () => redis.stop(),
    until: 'not passed',
    after: async () => {
      await restartRedis()
      await cluster.servers[0]?.ready()
      await awaitChannel(cluster, 'up')
      await awaitIntrospection(cluster)
    },
  })
  console.log(`${REVOCATIONS} revocation requests sent while Redis was stopped`)
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

  const unreachable = await measureWithoutChannel(join(folder, 'opaque'), cleanup, {
    gatewaySettings: () => ({
      SCOPEGATE_ISSUERS__0__STALE_IF_ERROR: STALE_IF_ERROR,
      SCOPEGATE_ISSUERS__0__INTROSPECTION__TTL: MAX_TTL,
    }),
    reachesServer: false,
  })
  console.log(
    `${REVOCATIONS} tokens revoked while two gateways could not reach Redis and the authorization server`,
  )
  const local = await measureWithoutChannel(join(folder, 'jwt'), cleanup, {
    serverSettings: { SCOPEGATE_ACCESS_TOKENS__FORMAT: 'jwt' },
    gatewaySettings: (_, server) => ({
      SCOPEGATE_ISSUERS__0__JWT__KEYS__URI: `${server}${ENDPOINTS.jwks}`,
      SCOPEGATE_ISSUERS__0__JWT__MAX_REVOCATION_DELAY: MAX_REVOCATION_DELAY,
    }),
    reachesServer: true,
  })
  console.log(`${REVOCATIONS} JWTs revoked while the gateways could not reach Redis`)

  return [
    ...rowsOf('stream connected', pushed, PUSHED_P99_MS),
    ...rowsOf('gateways cut off from Redis', cut, CAP_MS),
    ...rowsOf('Redis stopped', stopped, CAP_MS, 503),
    ...rowsOf('two gateways cut off from Redis and the server', unreachable, CAP_MS),
    ...rowsOf('JWT, gateways cut off from Redis', local, JWT_CAP_MS),
    ...came.map(({ after, passed }) =>
      measuredCount(`of ${revoked.length} rejected tokens, accepted after ${after}`, passed, 0),
    ),
  ]
})

/**
 * Starts a cluster, and measures revocations while the gateways cannot connect to Redis.
 * @param options.reachesServer if false, two of the three gateways also cannot connect to the authorization server.
 */
async function measureWithoutChannel(
  folder: string,
  cleanup: Cleanup,
  {
    reachesServer,
    ...settings
  }: Pick<RevocationClusterOptions, 'serverSettings' | 'gatewaySettings'> & {
    readonly reachesServer: boolean
  },
): Promise<RevocationTimes> {
  mkdirSync(folder)
  const redis = await startRedis({ folder, keepsData: true })
  cleanup.add(() => redis.stop())
  const ways: FaultProxy[] = []
  const startWay = async (target: string | number): Promise<FaultProxy> => {
    const way = await startFaultProxy(target)
    cleanup.add(() => way.close())
    ways.push(way)
    return way
  }
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    gateways: 3,
    servers: 1,
    redis: { ofServers: redis.url, ofGateways: `redis://127.0.0.1:${(await startWay(redis.port)).port}` },
    eventStream: false,
    // The client sends its revocations to the first gateway.
    routeToServers: async ([server = ''], at) =>
      reachesServer || at === 0 ? server : (await startWay(server)).url,
    ...settings,
  })
  await awaitChannel(cluster, 'up')
  return measureRevocations(cluster, {
    rounds: ROUNDS,
    concurrency: CONCURRENCY,
    before: async () => void (await Promise.all(ways.map((way) => way.down()))),
    until: reachesServer ? 'denied' : 'not passed',
    after: async () => {
      await Promise.all(ways.map((way) => way.up()))
      await awaitChannel(cluster, 'up')
      await awaitIntrospection(cluster)
    },
  })
}

function rowsOf(
  what: string,
  { timesMs, answers }: RevocationTimes,
  limitMs: number,
  wanted = 200,
): readonly Measurement[] {
  const withoutLimit = (name: string, ms: number): Measurement => ({
    what: `${what}: ${name} until the last accepted request`,
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
