// npm run soak:outage: two gateways, two authorization servers, one durable Redis, 100 requests per second with known
// and revoked tokens. Redis restarts and freezes. Both authorization servers are unavailable for two minutes.
// Limits: no failed request with a known token, and no accepted revoked token.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import { startKnownTokenLoad } from './known-token-load.ts'
import { obtainKnownToken } from './measure-revocations.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import { awaitChannel, startRevocationCluster } from './revocation-cluster.ts'
import { runSoak } from './run-soak.ts'

const KNOWN = 50
const REVOKED = 10
const PER_SECOND = 100
const RESTART_MS = 2_000
const FREEZE_MS = 5_000
const SERVERS_AWAY_MS = 120_000
/**
 * Measured time after a fault. This time is longer than the cache time without revocations, so the gateways check each
 * token again.
 */
const RECOVERY_MS = 10_000
const GATEWAY_SETTINGS = {
  SCOPEGATE_ISSUERS__0__STALE_IF_ERROR: '150s',
  SCOPEGATE_ISSUERS__0__INTROSPECTION__TIMEOUT: '2s',
}
/** Status of the upstream, which means that the gateway forwarded the request. */
const PASSED = 201

await runSoak(async ({ folder, cleanup }) => {
  const redisFolder = join(folder, 'redis')
  mkdirSync(redisFolder)
  let redis = await startRedis({ folder: redisFolder, keepsData: true })
  cleanup.add(() => redis.stop())
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    gateways: 2,
    servers: 2,
    redis: { ofServers: redis.url, ofGateways: redis.url },
    eventStream: false,
    gatewaySettings: GATEWAY_SETTINGS,
  })
  await awaitChannel(cluster, 'up')
  const known: string[] = []
  const revoked: string[] = []
  for (let count = 0; count < KNOWN; count++) known.push(await obtainKnownToken(cluster))
  for (let count = 0; count < REVOKED; count++) {
    const token = await obtainKnownToken(cluster)
    await cluster.client.revoke(token)
    revoked.push(token)
  }
  const load = startKnownTokenLoad({ ...cluster, known, revoked, perSecond: PER_SECOND })

  /** Returns the outcomes during a fault and in the ten seconds after the fault. */
  async function measure(what: string, fault: () => Promise<void>): Promise<readonly Measurement[]> {
    load.takeOutcomes()
    await fault()
    await wait(RECOVERY_MS)
    const outcomes = load.takeOutcomes()
    console.log(`${what}: statuses ${JSON.stringify([...outcomes.known.statuses])}`)
    const total = outcomes.known.timesMs.length
    const passed = outcomes.known.statuses.get(PASSED) ?? 0
    const time = (name: string, ms: number): Measurement => ({
      what: `${what}: ${name} of known tokens`,
      measured: `${ms.toFixed(1)} ms`,
      limit: 'none',
      passed: undefined,
    })
    return [
      measuredCount(`${what}: failed of ${total} requests with known tokens`, total - passed, 0),
      measuredCount(`${what}: accepted revoked tokens`, outcomes.revoked.statuses.get(PASSED) ?? 0, 0),
      time('p50', readPercentile(outcomes.known.timesMs, 0.5)),
      time('p99', readPercentile(outcomes.known.timesMs, 0.99)),
      time('max', Math.max(...outcomes.known.timesMs)),
    ]
  }

  const rows = [
    ...(await measure('no fault', async () => undefined)),
    ...(await measure('Redis restarted after 2 s', async () => {
      await redis.stop()
      await wait(RESTART_MS)
      redis = await startRedis({ folder: redisFolder, port: redis.port, keepsData: true })
    })),
    ...(await measure('Redis frozen for 5 s', async () => {
      redis.freeze()
      await wait(FREEZE_MS)
      redis.thaw()
    })),
    ...(await measure('authorization servers frozen for 5 s', async () => {
      for (const { process: server } of cluster.servers) process.kill(server.pid, 'SIGSTOP')
      await wait(FREEZE_MS)
      for (const { process: server } of cluster.servers) process.kill(server.pid, 'SIGCONT')
    })),
    ...(await measure('authorization servers away for 2 min', async () => {
      await Promise.all(cluster.servers.map((server) => server.process.stop()))
      await wait(SERVERS_AWAY_MS)
      for (const server of cluster.servers) await server.restart()
    })),
  ]
  await load.stop()
  return rows
})
