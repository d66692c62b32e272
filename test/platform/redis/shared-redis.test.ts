import { mock } from 'node:test'
import type { Command } from 'ioredis'
import t, { type Test } from 'tap'
import { createLogger } from '../../../platform/logging/logger.ts'
import { openSharedRedis } from '../../../platform/redis/shared-redis.ts'
import { startFaultProxy } from '../../fixtures/fault-proxy.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

t.test('a handshake that is slower than the command deadline still establishes a connection', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  const proxy = await startFaultProxy(redis.port)
  const events: string[] = []
  const logger = createLogger(
    { level: 'warn', service: 'test' },
    { write: (line) => void events.push(JSON.parse(line).msg) },
  )
  proxy.toClient({ latencyMs: 100 })
  const shared = await openSharedRedis({
    url: `redis://127.0.0.1:${proxy.port}`,
    logger,
    tickMs: () => performance.now(),
  })
  t.teardown(async () => {
    shared.close()
    await proxy.close()
    await redis.stop()
  })
  t.equal(shared.unavailableReason(), undefined)
  t.same(events, [], 'no failure')
  await t.rejects(shared.redis.ping(), /timed out/, 'commands keep their deadline of 75 ms')
  t.equal(await shared.send('ping', []), 'PONG', 'send() has no deadline')

  proxy.reset()
  await until('the connection is lost', async () => shared.unavailableReason() === 'away')
  await t.rejects(shared.send('ping', []), 'send() rejects without a connection')
  await until('the connection is made again', async () => shared.unavailableReason() !== 'away')
  await t.rejects(shared.redis.ping(), /timed out/)
})

async function setUp(t: Test, options: { readonly commandTimeoutMs?: number } = {}) {
  const server = await startRedis({ folder: t.testdir() })
  const lines: Record<string, unknown>[] = []
  const write = (text: string): void => {
    const { time: _, ...line } = JSON.parse(text)
    lines.push(line)
  }
  const logger = createLogger({ level: 'info', service: 'test' }, { write })
  const clock = { nowMs: 0 }
  const shared = await openSharedRedis({ url: server.url, logger, tickMs: () => clock.nowMs, ...options })
  t.teardown(async () => {
    shared.close()
    await server.stop()
  })
  return { server, shared, lines, clock }
}

t.test('the shared Redis opens its circuit after five failures, and logs each change', async (t) => {
  const { shared, lines, clock } = await setUp(t)
  const reasons = () => [shared.unavailableReason(), shared.problem]
  for (let failure = 1; failure <= 4; failure++) shared.failed()
  t.strictSame(reasons(), [undefined, undefined])
  shared.succeeded()
  for (let failure = 1; failure <= 4; failure++) shared.failed()
  t.strictSame(reasons(), [undefined, undefined])
  shared.failed()
  const open =
    'Redis fails or does not respond in time: each gateway counts, caches and introspects separately'
  t.strictSame(reasons(), ['open', open])
  const given = { level: 'warn', service: 'test', event: 'redis_given_up', msg: `redis: ${open}` }
  t.strictSame(lines, [given])
  clock.nowMs = 999
  t.strictSame(reasons(), ['open', open])
  clock.nowMs = 1_000
  t.equal(shared.unavailableReason(), 'open', 'the probe is in progress')
  await until('the probe succeeds', async () => shared.unavailableReason() === undefined)
  t.equal(shared.problem, undefined)
  t.strictSame(lines, [
    given,
    { level: 'info', service: 'test', event: 'redis_used_again', msg: 'redis responds again' },
  ])
  shared.close()
  await until('the connection is closed', async () => shared.unavailableReason() === 'away')
  t.strictSame(reasons(), [
    'away',
    'no connection to Redis: each gateway counts, caches and introspects separately',
  ])
})

t.test('the shared Redis probes once per second while its circuit is open', async (t) => {
  const { shared, lines, clock } = await setUp(t)
  const pings = t.capture(shared.redis, 'ping', () => Promise.reject(new Error('no response')))
  for (let failure = 1; failure <= 15; failure++) shared.failed()
  let probes = 0
  for (clock.nowMs = 0; clock.nowMs < 10_000; clock.nowMs += 10) {
    t.equal(shared.unavailableReason(), 'open')
    probes += pings().length
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.equal(probes, 9)
  t.match(lines, [{ event: 'redis_given_up' }], 'one line for the opened circuit')
})

t.test('the shared Redis sends the next probe only after the previous probe has ended', async (t) => {
  const { shared, clock } = await setUp(t)
  const probe = Promise.withResolvers<string>()
  const pings = t.capture(shared.redis, 'ping', () => probe.promise)
  for (let failure = 1; failure <= 5; failure++) shared.failed()
  clock.nowMs = 1_000
  for (let call = 1; call <= 100; call++) t.equal(shared.unavailableReason(), 'open')
  t.equal(pings().length, 1)
  probe.resolve('PONG')
  await until('the circuit closes', async () => shared.unavailableReason() === undefined)
})

t.test(
  'the shared Redis has a command timeout of 75 ms by default, and connects when Redis starts later',
  async (t) => {
    const { shared } = await setUp(t)
    t.match(shared.redis.options, { commandTimeout: 75, socketTimeout: 2_000 })
    const other = await setUp(t, { commandTimeoutMs: 1_500 })
    t.match(other.shared.redis.options, { commandTimeout: 1_500 })
  },
)

t.test(
  'send() returns text, and uses a deadline of 60 s instead of the deadline of the connection',
  async (t) => {
    const { shared } = await setUp(t)
    t.equal(await shared.send('set', ['key', 7]), 'OK')
    t.equal(await shared.send('get', ['key']), '7')
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const sent = t.capture(shared.redis, 'sendCommand', (command: Command) => command.promise)
    let outcome: unknown
    const reply = shared.send('ping', ['x']).catch((error) => (outcome = error))
    mock.timers.tick(59_999)
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(outcome, undefined)
    mock.timers.tick(1)
    await reply
    t.match(outcome, { message: 'Command timed out' })
    t.match(
      sent().map(({ args: [command] }) => [command.name, command.args]),
      [['ping', ['x']]],
    )
  },
)
