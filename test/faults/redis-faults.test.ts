import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { maxEventsWithin } from '../fixtures/max-events-within.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'scopegate-redis-'))
t.teardown(() => rmSync(folder, { recursive: true }))
let rejections = 0
process.on('unhandledRejection', () => {
  rejections += 1
})

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
routes:
  - { name: limited, match: { methods: [GET], path: /limited }, rateLimit: { requests: 1000000, per: 1m, by: route } }
`

/** Starts a gateway that counts rate limits in Redis. */
async function start(t: Test, url: string): Promise<GatewayUnderTest> {
  return startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, redis: { url } }),
  })
}

async function statuses(under: GatewayUnderTest, count: number): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  const answers = Array.from({ length: count }, async () => {
    const response = await fetch(`${under.gateway.url}/limited`)
    await response.text()
    found[response.status] = (found[response.status] ?? 0) + 1
  })
  await Promise.all(answers)
  return found
}

async function fallbacks(under: GatewayUnderTest): Promise<number> {
  const scrape = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  return [...scrape.matchAll(/^scopegate_rate_limit_fallback_total\{[^}]*\} (\d+)/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  )
}

t.test('a frozen Redis delays no response, and counts rate limits again when it resumes', async (t) => {
  const redis = await startRedis({ folder })
  t.teardown(() => redis.stop())
  const under = await start(t, redis.url)
  t.same(await statuses(under, 20), { 200: 20 })
  const counts = async () => {
    const before = await fallbacks(under)
    t.same(await statuses(under, 1), { 200: 1 })
    return (await fallbacks(under)) === before
  }
  await until('Redis counts', counts)
  const before = await fallbacks(under)
  redis.freeze()
  for (let round = 0; round < 10; round++) t.same(await statuses(under, 50), { 200: 50 })
  t.ok((await fallbacks(under)) - before >= 500, 'the gateway counted every request locally')
  redis.thaw()
  await until('Redis counts again', counts)
})

t.test(
  'when Redis ends every connection, every request gets a response and reconnections are delayed',
  async (t) => {
    const connectedAtMs: number[] = []
    const sockets = new Set<Socket>()
    const flapping = createServer((socket) => {
      connectedAtMs.push(performance.now())
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
      // Closes the connection after the first command.
      socket.once('data', () => socket.destroy())
    })
    await new Promise<void>((resolve) => flapping.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
      flapping.close()
    })
    const { port } = flapping.address() as { port: number }
    const under = await start(t, `redis://127.0.0.1:${port}`)
    await until('the gateway has reconnected three times', async () => {
      t.same(await statuses(under, 100), { 200: 100 })
      return connectedAtMs.length >= 4
    })
    // One connection is for requests, and the other connection is for revocations. Each connection waits 2 s. Timers
    // fire at most 1 ms early.
    t.ok(maxEventsWithin(connectedAtMs, 1_995) <= 2, 'neither connection reconnects immediately')
  },
)

t.test('the faults cause no unhandled rejection', async (t) => {
  t.equal(rejections, 0)
})
