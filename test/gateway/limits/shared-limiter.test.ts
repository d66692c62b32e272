import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { openRateLimiter } from '../../../gateway/limits/open-rate-limiter.ts'
import { takeAll } from '../../../gateway/limits/take-all.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { openSharedRedis, type SharedRedis } from '../../../platform/redis/shared-redis.ts'
import {
  compileRateLimit,
  compileSharedLimit,
  type RateLimitRule,
} from '../../../policy-engine/format/rate-limit.ts'
import { aCaller } from '../../fixtures/a-caller.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

t.jobs = 4 // each test starts its own Redis and needs little CPU time
const folder = mkdtempSync(join(tmpdir(), 'scopegate-limits-'))
t.teardown(() => rmSync(folder, { recursive: true }))
let rejections = 0
process.on('unhandledRejection', () => {
  rejections += 1
})

const aLimit = (rule: Partial<RateLimitRule> = {}) =>
  compileRateLimit('test/route', { requests: 5, perMs: 3_600_000, by: 'client', ...rule })

/** A long timeout. On a busy machine, a slow Redis would otherwise count as a failed Redis. */
const PATIENT = { commandTimeoutMs: 20_000 }

/**
 * Creates the limiter of one process, and counts its local decisions. Waits for the connection, because on a busy machine
 * the handshake can exceed its deadline. The limiter then starts without Redis, and connects later.
 */
async function aLimiter(t: Test, url: string, options: { readonly commandTimeoutMs?: number } = PATIENT) {
  const opened = await openLimiter(t, url, options)
  if (opened.redis.status !== 'ready') await once(opened.redis, 'ready')
  return opened
}

async function openLimiter(t: Test, url: string, options: { readonly commandTimeoutMs?: number } = PATIENT) {
  const fallbacks: Record<string, number> = {}
  let log = ''
  const tickMs = () => performance.now()
  const logger = createLogger({ level: 'info', service: 'gateway' }, { write: (line) => (log += line) })
  const shared = await openSharedRedis({ url, logger, tickMs, ...options })
  const limiter = openRateLimiter({
    shared,
    tickMs,
    onFallback: (reason) => {
      fallbacks[reason] = (fallbacks[reason] ?? 0) + 1
    },
  })
  t.teardown(() => shared.close())
  return { limiter, fallbacks, redis: shared.redis, log: () => log }
}

/** The test can stop redis-server early with `stop`. */
async function aRedis(t: Test, options: { port?: number; password?: string } = {}) {
  const redis = await startRedis({ folder, ...options })
  let isRunning = true
  const stop = async () => {
    if (isRunning) await redis.stop()
    isRunning = false
  }
  t.teardown(stop)
  return { ...redis, stop }
}

t.test('processes that share a Redis enforce one limit together under concurrency', async (t) => {
  const { url } = await aRedis(t)
  const one = await aLimiter(t, url)
  const two = await aLimiter(t, url)
  const limit = aLimit({ requests: 50 })
  const states = await Promise.all(
    Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? one : two).limiter.take(limit, 'a')),
  )
  t.equal(states.filter((state) => state.allowed).length, 50)
  t.strictSame(
    new Set(states.filter((state) => state.allowed).map((state) => state.remaining)).size,
    50,
    'each process got a different remainder',
  )
  for (const state of states.filter((one) => !one.allowed))
    t.ok(state.retryAfterMs > 0 && state.retryAfterMs <= 72_000)
  t.strictSame([one.fallbacks, two.fallbacks], [{}, {}])
})

t.test('a rejected caller is rejected locally without another call to Redis', async (t) => {
  const { url } = await aRedis(t)
  const { limiter } = await aLimiter(t, url)
  const limit = aLimit({ requests: 1 })
  const spy = new Redis(url)
  t.teardown(() => spy.disconnect())
  await limiter.take(limit, 'a')
  const calls = async () => /cmdstat_evalsha:calls=(\d+)/.exec(await spy.info('commandstats'))?.[1]
  await limiter.take(limit, 'b')
  const before = await calls()
  t.equal(before, '1', 'the second call sends the hash')
  for (let i = 0; i < 100; i++) {
    const state = limiter.take(limit, 'a')
    if (state instanceof Promise) t.fail('it asked')
    else t.equal(state.allowed, false)
  }
  t.equal(await calls(), before)
})

t.test('Redis stores an expiring hash without client, subject or address', async (t) => {
  const { url } = await aRedis(t)
  const { limiter } = await aLimiter(t, url)
  await limiter.take(aLimit({ perMs: 60_000 }), 'test/route s:alice@example.com')
  const spy = new Redis(url)
  t.teardown(() => spy.disconnect())
  const keys = await spy.keys('*')
  t.match(keys, [/^scopegate:rate:[\w-]{27}$/])
  const ttlMs = await spy.pttl(String(keys[0]))
  t.ok(ttlMs > 0 && ttlMs <= 12_000, `${ttlMs} ms: until the limit is restored`)
})

t.test('a Redis that lost the script or all data gets the script again', async (t) => {
  const { url } = await aRedis(t)
  const { limiter, fallbacks } = await aLimiter(t, url)
  const spy = new Redis(url)
  t.teardown(() => spy.disconnect())
  await limiter.take(aLimit(), 'a')
  await spy.script('FLUSH')
  t.match(await limiter.take(aLimit(), 'a'), { allowed: true, remaining: 3 })
  t.strictSame(fallbacks, {})
})

t.test('after the clock was set back, a caller is rejected for one window at most', async (t) => {
  const { url } = await aRedis(t)
  const { limiter } = await aLimiter(t, url)
  const limit = aLimit({ perMs: 60_000 })
  await limiter.take(limit, 'a')
  const spy = new Redis(url)
  t.teardown(() => spy.disconnect())
  const [key = ''] = await spy.keys('*')
  await spy.set(key, String(Date.now() * 1_000 + 3_600_000_000))
  t.match(await limiter.take(limit, 'a'), { allowed: false, retryAfterMs: 12_000 })
})

t.test('a key of another type counts as a failure, not as a result', async (t) => {
  const { url } = await aRedis(t)
  const { limiter, fallbacks } = await aLimiter(t, url)
  const spy = new Redis(url)
  t.teardown(() => spy.disconnect())
  await limiter.take(aLimit(), 'a')
  const [key = ''] = await spy.keys('*')
  await spy.del(key)
  await spy.lpush(key, 'x')
  t.match(await limiter.take(aLimit(), 'a'), { allowed: true, remaining: 3 }, 'counting continues locally')
  t.strictSame(fallbacks, { failed: 1 })
})

t.test('rejected concurrent requests of a caller do not use up the limit of a route', async (t) => {
  const { url } = await aRedis(t)
  const { limiter } = await aLimiter(t, url)
  const limits = {
    own: aLimit({ requests: 20, by: 'route' }),
    shared: [compileSharedLimit({ name: 'apps', requests: 5, perMs: 3_600_000, key: 'client' })],
  }
  const results = await Promise.all(
    Array.from({ length: 60 }, () => takeAll(limiter, limits, aCaller({ clientId: 'one' }), '203.0.113.1')),
  )
  t.equal(results.filter(({ state }) => state.allowed).length, 5)
  const other = await takeAll(limiter, limits, aCaller({ clientId: 'two' }), '203.0.113.2')
  t.match(other.state, { allowed: true }, 'the requests of another caller are allowed')
})

/** Creates a limiter whose Redis always has this result. Counts the local decisions. */
function aLimiterWithReply(reply: readonly unknown[]) {
  const fallbacks: string[] = []
  const redis = { defineCommand: () => undefined, takeFromLimit: async () => reply }
  const shared = {
    redis,
    unavailableReason: () => undefined,
    failed: () => undefined,
    succeeded: () => undefined,
  }
  const limiter = openRateLimiter({
    shared: shared as unknown as SharedRedis,
    tickMs: () => 0,
    onFallback: (reason) => fallbacks.push(reason),
  })
  return { limiter, fallbacks }
}

t.test('a rejection by Redis determines the wait time of further requests', async (t) => {
  const { limiter } = aLimiterWithReply([0, 60_000_000, 60_000_000])
  const limit = aLimit({ requests: 1 })
  t.match(await limiter.take(limit, 'a'), { allowed: false, retryAfterMs: 60_000 })
  t.match(limiter.take(limit, 'a'), { allowed: false, retryAfterMs: 60_000 })
})

t.test('an impossible result of Redis counts as a failure', async (t) => {
  for (const reply of [
    [1, 'x', 0],
    [1, 1e18, 0],
    [0, -1, 1],
    [0, 1, Number.NaN],
    [2, 1, 0],
  ]) {
    const { limiter, fallbacks } = aLimiterWithReply(reply)
    for (const remaining of [4, 3])
      t.match(await limiter.take(aLimit(), 'a'), { allowed: true, remaining }, String(reply))
    t.strictSame(fallbacks, ['failed', 'failed'])
  }
})

t.test('the limiter counts locally while Redis fails, and in Redis again after the failure', async (t) => {
  const redis = await aRedis(t)
  const { limiter, fallbacks, log } = await aLimiter(t, redis.url)
  const limit = aLimit()
  for (const remaining of [4, 3, 2]) t.match(await limiter.take(limit, 'a'), { allowed: true, remaining })
  await redis.stop()
  const states = []
  for (let i = 0; i < 4; i++) states.push(await limiter.take(limit, 'a'))
  t.strictSame(
    states.map((one) => one.allowed),
    [true, true, false, false],
    'five in total: open, but bounded',
  )
  t.ok((fallbacks['away'] ?? 0) + (fallbacks['failed'] ?? 0) >= 2)
  await until('the loss is logged', async () => /redis connection lost/.test(log()))

  await aRedis(t, { port: redis.port })
  await until('Redis counts again', async () => {
    const before = { ...fallbacks }
    await limiter.take(limit, `probe-${performance.now()}`)
    return JSON.stringify(before) === JSON.stringify(fallbacks)
  })
  t.match(await limiter.take(limit, 'b'), { allowed: true, remaining: 4 })
})

t.test('the gateway starts without Redis, and uses Redis when it is available', async (t) => {
  const { port, stop } = await aRedis(t)
  await stop()
  const { limiter, fallbacks, log } = await openLimiter(t, `redis://:the-password@127.0.0.1:${port}`)
  t.match(log(), /cannot be reached/)
  t.notMatch(log(), /the-password/)
  t.match(limiter.take(aLimit(), 'a'), { allowed: true, remaining: 4 }, 'immediately')
  t.strictSame(fallbacks, { away: 1 })
  await aRedis(t, { port, password: 'the-password' })
  await until('Redis counts', async () => limiter.take(aLimit(), `b-${performance.now()}`) instanceof Promise)
})

t.test('a wrong address or password prevents the start', async (t) => {
  const { port } = await aRedis(t, { password: 'right' })
  // Repeats, because on a busy machine the handshake can exceed its deadline, and the limiter starts without Redis.
  const failureOf = (url: string) =>
    until('the start fails', () =>
      openLimiter(t, url).then(
        () => undefined,
        (error) => error.code,
      ),
    )
  t.equal(await failureOf(`redis://:wrong-password@127.0.0.1:${port}`), 'ERR_REDIS_REFUSED')
  t.equal(await failureOf(`redis://127.0.0.1:${port}`), 'ERR_REDIS_REFUSED')
  t.equal(await failureOf('http://127.0.0.1:1'), 'ERR_REDIS_URL')
})

t.test(
  'a frozen Redis delays requests by the timeout at most, and not at all after the circuit opens',
  async (t) => {
    const redis = await aRedis(t)
    const { limiter, fallbacks, log } = await aLimiter(t, redis.url, {})
    const limit = aLimit({ requests: 1_000_000 })
    await limiter.take(limit, 'a')
    const before = fallbacks['failed'] ?? 0 // on a busy machine, calls can fail before the freeze
    redis.freeze()
    // The first callers wait for the timeout, until the circuit opens. The test asserts the order of these events, not
    // their duration.
    const first = await Promise.all(Array.from({ length: 20 }, (_, i) => limiter.take(limit, `first-${i}`)))
    t.ok(first.every((state) => state.allowed))
    t.equal(fallbacks['failed'], before + 20)
    for (let i = 0; i < 500; i++)
      if (limiter.take(limit, `then-${i}`) instanceof Promise)
        t.fail(`request ${i} waited for a Redis that is given up`)
    t.equal((fallbacks['open'] ?? 0) + (fallbacks['away'] ?? 0), 500)
    t.match(log(), /redis_given_up/)
    redis.thaw()
    await until(
      'the breaker closes',
      async () => limiter.take(limit, `later-${performance.now()}`) instanceof Promise,
    )
    t.match(log(), /redis_used_again/)
  },
)

t.test('a Redis that accepts connections and never responds is called at most once per second', async (t) => {
  const { url, port, stop } = await aRedis(t)
  const { limiter } = await aLimiter(t, url)
  await stop()
  const startMs = performance.now() // before the first connection, so that the time covers each connection
  let connections = 0
  const sockets = new Set<import('node:net').Socket>()
  const silent = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  await until('the loss is detected', async () => !(limiter.take(aLimit(), 'a') instanceof Promise))
  await until('a second attempt', async () => {
    for (let i = 0; i < 50; i++)
      if (limiter.take(aLimit({ requests: 1_000_000 }), 'a') instanceof Promise) t.fail('it waited')
    return connections >= 2
  })
  t.ok(connections <= 1 + (performance.now() - startMs) / 1_000, `${connections} connections`)
})

t.test('the limiter connects to an unstable Redis at most once per second', async (t) => {
  const first = await aRedis(t)
  const { limiter } = await aLimiter(t, first.url)
  const limit = aLimit({ requests: 1_000_000 })
  const startMs = performance.now()
  let stop = first.stop
  let connections = 0
  let allowed = 0
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 100; i++) if ((await limiter.take(limit, `a-${i}`)).allowed) allowed += 1
    await stop()
    for (let i = 0; i < 100; i++) if ((await limiter.take(limit, `a-${i}`)).allowed) allowed += 1
    const next = await aRedis(t, { port: first.port })
    stop = next.stop
    const spy = new Redis(first.url)
    await until('the connection is back', async () => limiter.take(limit, 'probe') instanceof Promise)
    connections += Number(/total_connections_received:(\d+)/.exec(await spy.info('stats'))?.[1]) - 1
    spy.disconnect()
  }
  t.equal(allowed, 800)
  t.ok(connections <= 1 + (performance.now() - startMs) / 1_000, `${connections} connections`)
})

t.test('the tests of this file cause no unhandled promise rejection', { buffered: false }, async (t) => {
  t.equal(rejections, 0)
})
