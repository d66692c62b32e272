import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { type KnownTokenLoad, startKnownTokenLoad } from '../../bench/soak/known-token-load.ts'
import { obtainKnownToken } from '../../bench/soak/measure-revocations.ts'
import {
  awaitChannel,
  type RevocationCluster,
  startRevocationCluster,
} from '../../bench/soak/revocation-cluster.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

// `npm run soak:outage` runs this test with more requests and measures times.

const USES = 'scopegate_token_stale_uses_total'
const PASSED = 201

/** Starts two gateways and an authorization server with a durable Redis. */
async function startCluster(t: Test) {
  const cleanup = createCleanup()
  const parent = t.testdir({ redis: {}, cluster: {} })
  t.teardown(() => cleanup.run())
  const redisFolder = join(parent, 'redis')
  let redis = await startRedis({ folder: redisFolder, keepsData: true })
  cleanup.add(() => redis.stop())
  const cluster = await startRevocationCluster({
    folder: join(parent, 'cluster'),
    cleanup,
    gateways: 2,
    servers: 1,
    redis: { ofServers: redis.url, ofGateways: redis.url },
    eventStream: false,
    secret: (value) => value !== undefined && recordCredential(value),
    // Each token needs a new check every second.
    gatewaySettings: { SCOPEGATE_TOKEN_CACHE__MAX_TTL: '1s', SCOPEGATE_ISSUERS__0__STALE_IF_ERROR: '10m' },
  })
  await awaitChannel(cluster, 'up')
  return {
    cluster,
    stopRedis: () => redis.stop(),
    async startRedis() {
      redis = await startRedis({ folder: redisFolder, port: redis.port, keepsData: true })
    },
  }
}

/** Waits until each gateway has accepted tokens `count` more times because of an earlier check. */
async function awaitUses({ gateways }: RevocationCluster, count: number): Promise<void> {
  for (const gateway of gateways) {
    const before = await gateway.metric(USES)
    const enough = (Number.isNaN(before) ? 0 : before) + count
    await until('earlier checks are used', async () => (await gateway.metric(USES)) >= enough)
  }
}

/** Waits until no gateway accepts tokens because of an earlier check. */
async function awaitEnd({ gateways }: RevocationCluster): Promise<void> {
  for (const gateway of gateways)
    await until(
      'no earlier check is used',
      async () => (await gateway.metric('scopegate_token_stale_active')) === 0,
    )
}

function checkOutcomes(t: Test, load: KnownTokenLoad, what: string): void {
  const { known, revoked } = load.takeOutcomes()
  t.ok((known.statuses.get(PASSED) ?? 0) > 100)
  t.same([...known.statuses.keys()], [PASSED], `${what}: no request with a known token fails`)
  t.ok(revoked.timesMs.length > 10)
  t.equal(revoked.statuses.get(PASSED), undefined, `${what}: revoked tokens stay rejected`)
}

t.test('known tokens are accepted while Redis or the authorization server restarts under load', async (t) => {
  const { cluster, stopRedis, startRedis } = await startCluster(t)
  const [known, revoked]: [string[], string[]] = [[], []]
  for (let count = 0; count < 5; count++) known.push(await obtainKnownToken(cluster))
  for (let count = 0; count < 2; count++) {
    const token = await obtainKnownToken(cluster)
    t.equal((await cluster.client.revoke(token)).status, 200)
    for (const gateway of cluster.gateways)
      await until('the gateway rejects the token', async () => (await gateway.statusOf(token)) === 401)
    revoked.push(token)
  }
  const load = startKnownTokenLoad({ ...cluster, known, revoked, perSecond: 50 })
  t.teardown(() => load.stop())

  await stopRedis()
  await awaitChannel(cluster, 'down')
  await awaitUses(cluster, 20)
  const gaps = await Promise.all(
    cluster.gateways.map((gateway) => gateway.metric('scopegate_revocation_gaps_total')),
  )
  await startRedis()
  await awaitChannel(cluster, 'up')
  for (const [index, gateway] of cluster.gateways.entries())
    t.ok((await gateway.metric('scopegate_revocation_gaps_total')) > (gaps[index] ?? 0), 'a revocation gap')
  await awaitEnd(cluster)
  checkOutcomes(t, load, 'Redis')

  const [server] = cluster.servers
  if (server === undefined) throw new Error('the cluster has a server')
  process.kill(server.process.pid, 'SIGKILL')
  await awaitUses(cluster, 20)
  await server.restart()
  await awaitEnd(cluster)
  checkOutcomes(t, load, 'authorization server')

  const [token] = known
  if (token === undefined) throw new Error('the cluster has tokens')
  t.equal((await cluster.client.revoke(token)).status, 200)
  for (const gateway of cluster.gateways)
    await until('the gateway rejects the token', async () => (await gateway.statusOf(token)) === 401)
})

const BOUND = { maxTtlMs: 1_000, staleIfErrorMs: 6_000 }
const TOKENS = 200

t.test('a token that is revoked at an unreachable issuer is rejected within the bound', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map((issuer) => ({ ...issuer, staleIfErrorMs: BOUND.staleIfErrorMs })),
      tokenCache: { ...config.tokenCache, maxTtlMs: BOUND.maxTtlMs },
    }),
  })
  const statusOf = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${under.gateway.url}/api/courses`, { headers })
    await response.arrayBuffer()
    return response.status
  }
  const tokens = Array.from({ length: TOKENS }, (_, index) =>
    under.issuer.store(`token-${index}`, { scope: 'courses:read' }),
  )
  const checkedAtMs = await Promise.all(
    tokens.map(async (token) => {
      t.equal(await statusOf(token), 200)
      return performance.now()
    }),
  )
  under.issuer.answerWith((response) => response.writeHead(503).end())
  for (const token of tokens) under.issuer.revoke(token, { push: false })
  let late = 0
  let accepted = 0
  await Promise.all(
    tokens.map(async (token, index) => {
      const endMs = (checkedAtMs[index] ?? 0) + BOUND.maxTtlMs + BOUND.staleIfErrorMs
      let status = 200
      while (status === 200) {
        const sentMs = performance.now()
        status = await statusOf(token)
        if (status === 200 && sentMs > endMs) late += 1
        if (status === 200) accepted += 1
      }
      t.equal(status, 503)
    }),
  )
  t.ok(accepted > TOKENS, `${accepted} requests were accepted within the bound`)
  t.equal(late, 0, 'no request after the bound was accepted')
  under.issuer.answerWith(undefined)
  await until('the circuit is closed', async () => (await statusOf('token-0')) === 401)
  for (const token of tokens) t.equal(await statusOf(token), 401)
})
