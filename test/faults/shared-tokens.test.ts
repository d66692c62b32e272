import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { type JwtIssuer, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { type FaultProxy, startFaultProxy } from '../fixtures/fault-proxy.ts'
import { maxEventsWithin } from '../fixtures/max-events-within.ts'
import { startRedis, type TestRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

/**
 * Number of Redis connections. Each of the two gateways has one connection for requests, and one connection for
 * revocations.
 */
const CONNECTIONS = 4
/**
 * Each connection waits 2 s before it reconnects. A gateway with two connections connects once per second on average.
 * Timers fire at most 1 ms early.
 */
const RECONNECT_MS = 1_995

const folder = mkdtempSync(join(tmpdir(), 'scopegate-shared-tokens-'))
t.teardown(() => rmSync(folder, { recursive: true }))
let rejections = 0
process.on('unhandledRejection', () => {
  rejections += 1
})

/** Two gateways with one Redis behind a fault proxy, an issuer of opaque tokens, and an issuer of JWTs. */
type Cluster = {
  readonly redis: TestRedis
  readonly proxy: FaultProxy
  readonly jwts: JwtIssuer
  readonly one: GatewayUnderTest
  readonly two: GatewayUnderTest
  /** Starts another gateway with the same Redis. */
  another(): Promise<GatewayUnderTest>
}

/** Returns an issuer with a long timeout, because a slow response on a busy machine must not count as an outage. */
function patient(issuer: GatewayConfig['issuers'][number]) {
  return { ...issuer, introspection: issuer.introspection && { ...issuer.introspection, timeoutMs: 20_000 } }
}

async function startCluster(t: Test): Promise<Cluster> {
  const redis = await startRedis({ folder })
  const proxy = await startFaultProxy(redis.port)
  const jwts = await startJwtIssuer()
  t.teardown(async () => {
    await Promise.all([proxy.close(), jwts.close()])
    await redis.stop()
  })
  const issuers: GatewayConfig['issuers'][number][] = []
  const another = async () => {
    const under = await startGatewayUnderTest(t, {
      change(config) {
        // All gateways use the issuer of the first gateway.
        if (issuers.length === 0) issuers.push(...config.issuers.map(patient), aJwtIssuerConfig(jwts.issuer))
        return {
          ...config,
          issuers,
          redis: { url: `redis://127.0.0.1:${proxy.port}` },
          tokenCache: { ...config.tokenCache, maxEntries: 100 },
        }
      },
    })
    // The gateway does not use introspection results that are older than the connection to the revocation stream.
    await until('the revocation stream is connected', async () =>
      under.log().some(({ event }) => event === 'revocations_connected'),
    )
    return under
  }
  const one = await another()
  const two = await another()
  return { redis, proxy, jwts, one, two, another }
}

/** Sends all tokens concurrently, and counts statuses. */
async function statuses(under: GatewayUnderTest, tokens: readonly string[]): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  await Promise.all(
    tokens.map(async (token) => {
      const response = await fetch(`${under.gateway.url}/api/courses`, {
        headers: { authorization: `Bearer ${token}` },
      })
      await response.text()
      found[response.status] = (found[response.status] ?? 0) + 1
    }),
  )
  return found
}

async function metrics(under: GatewayUnderTest): Promise<string> {
  return (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
}

async function lookUps(under: GatewayUnderTest, result: string): Promise<number> {
  const series = `scopegate_token_shared_cache_total{issuer="${BASE_URL}",result="${result}"} `
  const line = (await metrics(under)).split('\n').find((one) => one.startsWith(series))
  return line === undefined ? 0 : Number(line.slice(series.length))
}

t.test(
  'concurrent lookups of one token cause at most one introspection per replica, and none for a later replica',
  async (t) => {
    const { redis, one, two, another } = await startCluster(t)
    const { issuer } = one
    const spy = new Redis(redis.url)
    t.teardown(() => spy.quit())
    let herds = 0
    // A gateway that cannot write to Redis in time continues without Redis. In this case, the test tries again.
    const herd = await until('the introspection result of concurrent requests is in Redis', async () => {
      const token = issuer.store(`herd-${herds++}`, { scope: 'courses:read' })
      const before = issuer.asked.length
      const tokens = Array.from({ length: 200 }, () => token)
      t.same(await Promise.all([statuses(one, tokens), statuses(two, tokens)]), [{ 200: 200 }, { 200: 200 }])
      const asked = issuer.asked.length - before
      t.ok(asked === 1 || asked === 2, `${asked} introspections by two replicas`)
      return (await spy.keys('scopegate:verdict:*')).length > 0 && tokens
    })
    // A gateway that does not receive the Redis response in time calls the issuer. In this case, the test tries again.
    await until('a replica that starts later uses the result in Redis', async () => {
      const later = await another()
      const asked = issuer.asked.length
      t.same(await statuses(later, herd.slice(0, 1)), { 200: 1 })
      if ((await lookUps(later, 'failed')) > 0) return false
      t.same(await statuses(later, herd), { 200: 200 })
      t.equal(issuer.asked.length, asked, 'a later replica does not call the issuer')
      t.equal(await lookUps(later, 'hit'), 1)
      return true
    })
  },
)

/**
 * Sends tokens of every kind in the current state of Redis. The gateway must reject every invalid token, and deny every
 * token without the scope. The gateway must accept every valid JWT, and every opaque token that the issuer reports as
 * active.
 */
async function tryEverybody(t: Test, { one, two, jwts }: Cluster, round: string): Promise<void> {
  const { issuer } = one
  const good = Array.from({ length: 10 }, (_, i) =>
    issuer.store(`${round}-good-${i}`, { scope: 'courses:read' }),
  )
  const bad = good.map((token) => `${token}-not`)
  const poor = good.map((token) => issuer.store(`${token}-poor`, { scope: 'pages:read' }))
  const signed = good.map(() => jwts.sign({ aud: BASE_URL, scope: 'courses:read' }))
  const answers = [one, two].flatMap((under) => [
    statuses(under, good),
    statuses(under, bad),
    statuses(under, poor),
    statuses(under, signed),
  ])
  const expected = [{ 200: 10 }, { 401: 10 }, { 403: 10 }, { 200: 10 }]
  t.same(await Promise.all(answers), [...expected, ...expected], round)
}

t.test('valid and invalid tokens get the correct status during every Redis fault', async (t) => {
  const cluster = await startCluster(t)
  const { redis, proxy, one } = cluster
  const spy = new Redis(redis.url)
  t.teardown(() => spy.disconnect())
  const isUsed = async () => {
    const before = await lookUps(one, 'miss')
    await statuses(one, [`probe-${performance.now()}`])
    return (await lookUps(one, 'miss')) > before
  }
  await tryEverybody(t, cluster, 'before')
  await until('Redis is used', isUsed)

  redis.freeze()
  for (let round = 0; round < 4; round++) await tryEverybody(t, cluster, `frozen-${round}`)
  const { failed, open, away } = {
    failed: await lookUps(one, 'failed'),
    open: await lookUps(one, 'open'),
    away: await lookUps(one, 'away'),
  }
  t.ok(failed >= 1 && failed + open + away >= 120, `${failed} waited, ${open + away} did not`)
  redis.thaw()
  await until('Redis is used again after it was frozen', isUsed)

  await spy.client('PAUSE', 1_500)
  for (let round = 0; round < 3; round++) await tryEverybody(t, cluster, `paused-${round}`)
  await until('Redis is used again after a pause', isUsed)

  proxy.toClient({ latencyMs: 80 })
  for (let round = 0; round < 3; round++) await tryEverybody(t, cluster, `slow-${round}`)
  proxy.heal()
  await until('Redis is used again after it was slow', isUsed)

  const before = proxy.connections
  proxy.turnAway()
  await tryEverybody(t, cluster, 'turned-away')
  await until('each connection was attempted', async () => proxy.connections >= before + CONNECTIONS)
  await tryEverybody(t, cluster, 'turned-away-again')
  await proxy.down()
  await tryEverybody(t, cluster, 'rejected')
  await proxy.up()
  await tryEverybody(t, cluster, 'back')
  await until('Redis is used again after it came and went', isUsed)
  t.ok(proxy.connections > before + CONNECTIONS)
  t.ok(
    maxEventsWithin(proxy.connectedAtMs, RECONNECT_MS) <= CONNECTIONS,
    'no connection reconnects immediately',
  )
})

t.test('invalid tokens fill neither the cache nor Redis', async (t) => {
  const { redis, one } = await startCluster(t)
  const spy = new Redis(redis.url)
  t.teardown(() => spy.disconnect())
  for (let round = 0; round < 5; round++) {
    const junk = Array.from({ length: 200 }, (_, i) => `junk-${round}-${i}`)
    t.same(await statuses(one, junk), { 401: 200 })
  }
  const entries = /^scopegate_token_cache_entries\{[^}]*\} (\d+)/m.exec(await metrics(one))?.[1]
  t.ok(Number(entries) <= 200, `${entries} entries`)
  t.same(await spy.keys('scopegate:verdict:*'), [])
})

t.test('the faults cause no unhandled rejection', async (t) => {
  t.equal(rejections, 0)
})
