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
import { mostWithin } from '../fixtures/most-within.ts'
import { startRedis, type TestRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

/** Two gateways, each with a connection for requests and one for revocations. */
const CONNECTIONS = 4
/** Each waits for 2 s before it comes again: two of a gateway are one a second. Timers are a millisecond early at most. */
const RECONNECT_MS = 1_995

const folder = mkdtempSync(join(tmpdir(), 'scopegate-shared-tokens-'))
t.teardown(() => rmSync(folder, { recursive: true }))
let rejections = 0
process.on('unhandledRejection', () => {
  rejections += 1
})

/** Two gateways on one Redis, reached through a network of the test's own, and one issuer of each kind. */
type Cluster = {
  readonly redis: TestRedis
  readonly proxy: FaultProxy
  readonly jwts: JwtIssuer
  readonly one: GatewayUnderTest
  readonly two: GatewayUnderTest
  /** Another gateway on the same Redis. */
  another(): Promise<GatewayUnderTest>
}

/** A busy machine is no issuer that is away. */
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
        // All gateways ask the issuer of the first one.
        if (issuers.length === 0) issuers.push(...config.issuers.map(patient), aJwtIssuerConfig(jwts.issuer))
        return {
          ...config,
          issuers,
          redis: { url: `redis://127.0.0.1:${proxy.port}` },
          tokenCache: { ...config.tokenCache, maxEntries: 100 },
        }
      },
    })
    // What was asked before revocations were heard of is asked again.
    await until('it hears of revocations', async () =>
      under.log().some(({ event }) => event === 'revocations_connected'),
    )
    return under
  }
  const one = await another()
  const two = await another()
  return { redis, proxy, jwts, one, two, another }
}

/** Sends tokens all at once, and counts statuses. */
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

/** Looks into Redis that came to this. */
async function lookUps(under: GatewayUnderTest, result: string): Promise<number> {
  const series = `scopegate_token_shared_cache_total{issuer="${BASE_URL}",result="${result}"} `
  const line = (await metrics(under)).split('\n').find((one) => one.startsWith(series))
  return line === undefined ? 0 : Number(line.slice(series.length))
}

t.test('F11: a cold herd is one question for each replica at most, and none for a later one', async (t) => {
  const { redis, one, two, another } = await startCluster(t)
  const { issuer } = one
  const spy = new Redis(redis.url)
  t.teardown(() => spy.quit())
  let herds = 0
  // A gateway that is too busy to tell Redis in time does without.
  const herd = await until('what was asked for a herd is in Redis', async () => {
    const token = issuer.store(`herd-${herds++}`, { scope: 'courses:read' })
    const before = issuer.asked.length
    const tokens = Array.from({ length: 500 }, () => token)
    t.same(await Promise.all([statuses(one, tokens), statuses(two, tokens)]), [{ 200: 500 }, { 200: 500 }])
    const asked = issuer.asked.length - before
    t.ok(asked === 1 || asked === 2, `${asked} questions of two replicas`)
    return (await spy.keys('scopegate:verdict:*')).length > 0 && tokens
  })
  // And one that is too busy to hear its answer in time asks the issuer.
  await until('a replica that starts later hears what Redis knows', async () => {
    const later = await another()
    const asked = issuer.asked.length
    t.same(await statuses(later, herd.slice(0, 1)), { 200: 1 })
    if ((await lookUps(later, 'failed')) > 0) return false
    t.same(await statuses(later, herd), { 200: 500 })
    t.equal(issuer.asked.length, asked, 'it asks nobody')
    t.equal(await lookUps(later, 'hit'), 1)
    return true
  })
})

/**
 * Sends tokens of every kind while Redis is as it is: nobody gets in who should not, a JWT always does, and whoever the issuer
 * vouches for does too.
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

t.test('F6 to F8: whatever happens to Redis, tokens are told apart as ever', async (t) => {
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
  await until('each has tried', async () => proxy.connections >= before + CONNECTIONS)
  await tryEverybody(t, cluster, 'turned-away-again')
  await proxy.down()
  await tryEverybody(t, cluster, 'refused')
  await proxy.up()
  await tryEverybody(t, cluster, 'back')
  await until('Redis is used again after it came and went', isUsed)
  t.ok(proxy.connections > before + CONNECTIONS)
  t.ok(mostWithin(proxy.connectedAtMs, RECONNECT_MS) <= CONNECTIONS, 'none of them ever comes back at once')
})

t.test('class 79: junk fills neither the cache nor Redis', async (t) => {
  const { redis, one } = await startCluster(t)
  const spy = new Redis(redis.url)
  t.teardown(() => spy.disconnect())
  for (let round = 0; round < 10; round++) {
    const junk = Array.from({ length: 200 }, (_, i) => `junk-${round}-${i}`)
    t.same(await statuses(one, junk), { 401: 200 })
  }
  const entries = /^scopegate_token_cache_entries\{[^}]*\} (\d+)/m.exec(await metrics(one))?.[1]
  t.ok(Number(entries) <= 200, `${entries} entries`)
  t.same(await spy.keys('scopegate:verdict:*'), [])
})

t.test('none of this left a rejection that nobody handled', async (t) => {
  t.equal(rejections, 0)
})
