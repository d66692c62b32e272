import { once } from 'node:events'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { createLogger } from '../../../platform/logging/logger.ts'
import { connectRedis } from '../../../platform/redis/redis.ts'
import { describeRedisUrl } from '../../../platform/redis/redis-failure.ts'
import { startFaultProxy } from '../../fixtures/fault-proxy.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

function aLog() {
  const lines: Record<string, unknown>[] = []
  const write = (text: string): void => {
    const { time: _, ...line } = JSON.parse(text)
    lines.push(line)
  }
  return { lines, logger: createLogger({ level: 'info', service: 'test' }, { write }) }
}

async function connected(t: Test, options: Omit<Parameters<typeof connectRedis>[0], 'url'> = {}) {
  const server = await startRedis({ folder: t.testdir() })
  const redis = await connectRedis({ ...options, url: server.url })
  t.teardown(async () => {
    redis.disconnect()
    await server.stop()
  })
  return { server, redis }
}

t.test('describeRedisUrl() returns host, port and database, without user and password', async (t) => {
  for (const [url, shown] of [
    ['redis://db', 'redis://db:6379'],
    ['redis://db/', 'redis://db:6379'],
    ['redis://db/3', 'redis://db:6379/3'],
    ['rediss://user:s3cret@db.internal:6380/0', 'rediss://db.internal:6380/0'],
    ['redis://[::1]:7', 'redis://[::1]:7'],
    ['redis://db:6379?x=s3cret', 'redis://db:6379'],
  ] as const)
    t.equal(describeRedisUrl(url), shown)
  for (const url of ['', 'db:6379', 'http://db', 'redis:', 'redis:///1', 'redis://'])
    t.throws(
      () => describeRedisUrl(url),
      {
        name: 'BootError',
        code: 'ERR_REDIS_URL',
        exitCode: 3,
        message:
          'redis.url (REDIS_URL) is not an address of the form redis://host:6379 or rediss://host:6379.',
      },
      url,
    )
})

t.test('connectRedis() uses these options for a required and for an optional Redis', async (t) => {
  const common = {
    lazyConnect: true,
    connectTimeout: 2_000,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    socketTimeout: 2_000,
  }
  const required = await connected(t)
  t.match(required.redis.options, { ...common, commandTimeout: 1_000 })
  const optional = await connected(t, { mayBeAway: true, commandTimeoutMs: 75 })
  t.match(optional.redis.options, { ...common, commandTimeout: 75 })
  for (const random of [0, 0.5]) {
    const restore = t.intercept(Math, 'random', { value: () => random, configurable: true })
    for (const { redis } of [required, optional])
      t.strictSame(
        [1, 2, 3, 4, 5, 6, 100].map((attempt) => redis.options.retryStrategy?.(attempt)),
        Array.from({ length: 7 }, () => (redis === required.redis ? 1_000 : 2_000) + random * 200),
      )
    restore()
  }
  optional.redis.emit('close')
  t.equal(optional.redis.options.commandTimeout, 1_000, 'during a handshake')
  optional.redis.emit('ready')
  t.equal(optional.redis.options.commandTimeout, 75)
})

t.test('connectRedis() explains why a required Redis cannot be used', async (t) => {
  const port = await quietPort()
  const error = await connectRedis({ url: `redis://me:s3cret@127.0.0.1:${port}/2` }).catch((error) => error)
  t.match(error, {
    name: 'BootError',
    code: 'ERR_REDIS_UNREACHABLE',
    exitCode: 1,
    message: `Redis at redis://127.0.0.1:${port}/2 cannot be reached (ECONNREFUSED). Start Redis, or correct redis.url (REDIS_URL).`,
    cause: { code: 'ECONNREFUSED' },
  })
  await t.rejects(connectRedis({ url: 'http://a' }), { code: 'ERR_REDIS_URL' })
})

t.test('connectRedis() explains rejected credentials, also of an optional Redis', async (t) => {
  const server = await startRedis({ folder: t.testdir(), password: 's3cret' })
  t.teardown(() => server.stop())
  const where = `127.0.0.1:${server.port}`
  for (const [user, reply] of [
    ['', 'NOAUTH'],
    [':wrong@', 'WRONGPASS'],
    ['other:wrong@', 'WRONGPASS'],
  ] as const)
    for (const mayBeAway of [true, false])
      await t.rejects(connectRedis({ url: `redis://${user}${where}`, mayBeAway }), {
        code: 'ERR_REDIS_REFUSED',
        message: `Redis at redis://${where} denied access (${reply}). Check user and password in redis.url (REDIS_URL).`,
        cause: { message: new RegExp(`^${reply} `) },
      })
  const admin = new Redis(server.url)
  t.teardown(() => admin.disconnect())
  t.equal(
    String(await admin.client('LIST'))
      .split('\n')
      .filter(Boolean).length,
    1,
    'no connection remains',
  )
  await admin.call('ACL', 'SETUSER', 'limited', 'on', '>pw', '+info', '-ping')
  await t.rejects(connectRedis({ url: `redis://limited:pw@${where}` }), {
    code: 'ERR_REDIS_REFUSED',
    message: /denied access \(NOPERM\)/,
  })
})

t.test('connectRedis() prints nothing if the user may not run INFO', async (t) => {
  const { server } = await connected(t)
  const admin = new Redis(server.url)
  t.teardown(() => admin.disconnect())
  await admin.call('ACL', 'SETUSER', 'limited', 'on', '>pw', '~*', '+@all', '-info')
  const printed = t.capture(console, 'warn')
  const redis = await connectRedis({ url: `redis://limited:pw@127.0.0.1:${server.port}` })
  t.teardown(() => redis.disconnect())
  t.equal(redis.status, 'ready')
  await t.rejects(redis.info('server'), { message: /^NOPERM / })
  t.same(printed(), [])
})

t.test('connectRedis() waits for a server that loads its data', async (t) => {
  const args = ['--enable-debug-command', 'yes', '--loading-process-events-interval-bytes', '1024']
  const server = await startRedis({ folder: t.testdir(), args })
  const admin = new Redis(server.url)
  t.teardown(async () => {
    admin.disconnect()
    await server.stop()
  })
  await admin.call('DEBUG', 'POPULATE', '1000')
  await admin.config('SET', 'key-load-delay', '1000')
  const reloaded = admin.call('DEBUG', 'RELOAD')
  const observer = new Redis(server.url, { enableReadyCheck: false })
  t.teardown(() => observer.disconnect())
  await until('the server loads', async () => /^loading:1/m.test(await observer.info('persistence')))
  const redis = await connectRedis({ url: server.url })
  t.teardown(() => redis.disconnect())
  t.equal(await redis.exists('key:0'), 1)
  t.equal(await reloaded, 'OK')
})

t.test('connectRedis() starts without an optional Redis, and logs when it is reached and lost', async (t) => {
  const { lines, logger } = aLog()
  const port = await quietPort()
  const url = `redis://:s3cret@127.0.0.1:${port}`
  const redis = await connectRedis({ url, mayBeAway: true, logger, commandTimeoutMs: 75 })
  t.teardown(() => redis.disconnect())
  const where = `redis://127.0.0.1:${port}`
  const start = {
    level: 'warn',
    service: 'test',
    event: 'redis_unreachable',
    redis: where,
    code: 'ERR_REDIS_UNREACHABLE',
    msg: `Redis at ${where} cannot be reached (ECONNREFUSED). Start Redis, or correct redis.url (REDIS_URL).`,
  }
  t.strictSame(lines, [start])
  await t.rejects(redis.ping(), 'a command fails immediately')

  const server = await startRedis({ folder: t.testdir(), port, password: 's3cret' })
  await redis.connect().catch(() => undefined)
  await until('connected', async () => redis.status === 'ready')
  const back = {
    level: 'info',
    service: 'test',
    event: 'redis_back',
    redis: where,
    msg: 'redis connection is back',
  }
  t.strictSame(lines, [start, back])
  t.equal(redis.options.commandTimeout, 75)
  const closed = once(redis, 'close')
  await server.stop()
  await closed
  const lost = {
    level: 'warn',
    service: 'test',
    event: 'redis_lost',
    redis: where,
    msg: 'redis connection lost',
  }
  t.strictSame(lines, [start, back, lost])
  redis.emit('close')
  t.equal(lines.length, 3, 'a failed attempt is not logged')
})

t.test(
  'connectRedis() reconnects immediately when the server has become a replica, and logs nothing',
  async (t) => {
    const { lines, logger } = aLog()
    const { server, redis } = await connected(t, { mayBeAway: true, logger })
    t.intercept(performance, 'now', { value: () => 10_000, configurable: true })
    const admin = new Redis(server.url)
    t.teardown(() => admin.disconnect())
    let closes = 0
    redis.on('close', () => (closes += 1))
    await admin.replicaof('127.0.0.1', 1)
    const ready = once(redis, 'ready')
    await t.rejects(redis.set('key', 'value'), { message: /^READONLY/ })
    await ready
    t.equal(closes, 1)
    await t.rejects(redis.set('key', 'value'), { message: /^READONLY/ })
    await redis.ping()
    t.equal(closes, 1, 'at most one reconnection in two seconds')
    t.strictSame(lines, [])
  },
)

t.test(
  'connectRedis() connects again when a server stops responding but keeps its connections open',
  async (t) => {
    const folder = t.testdir({ first: {}, second: {} })
    const first = await startRedis({ folder: join(folder, 'first') })
    const second = await startRedis({ folder: join(folder, 'second') })
    const address = await startFaultProxy(first.port)
    const redis = await connectRedis({ url: `redis://127.0.0.1:${address.port}` })
    t.teardown(async () => {
      redis.disconnect()
      await address.close()
      await Promise.all([first.stop(), second.stop()])
    })
    // The old primary keeps its connections open but sends no responses. New connections go to the new primary.
    first.freeze()
    address.retarget(second.port)
    await until('a write at the new primary', async () =>
      redis.set('key', 'value').then(
        () => true,
        () => false,
      ),
    )
    const reader = new Redis(second.url)
    t.equal(await reader.get('key'), 'value')
    reader.disconnect()
  },
)

t.test(
  'connectRedis() reconnects soon after Redis stopped responding, and delays later attempts',
  async (t) => {
    t.intercept(Math, 'random', { value: () => 0.5 })
    const { server, redis } = await connected(t)
    server.freeze()
    t.teardown(() => server.thaw())
    const delays: unknown[] = []
    redis.on('reconnecting', (delayMs: unknown) => delays.push(delayMs))
    await t.rejects(redis.ping())
    await until('two attempts', async () => delays.length >= 2)
    t.strictSame(delays.slice(0, 2), [50, 1_100])
    server.thaw()
    await once(redis, 'ready')
    t.equal(await redis.ping(), 'PONG')
    t.equal(redis.options.retryStrategy?.(1), 1_100, 'after another cause')
  },
)

t.test('connectRedis() treats the second close in a row as an outage', async (t) => {
  t.intercept(Math, 'random', { value: () => 0 })
  const { lines, logger } = aLog()
  const { redis } = await connected(t, { mayBeAway: true, logger })
  const events = () => lines.splice(0).map(({ event }) => event)
  const { reconnectOnError, retryStrategy } = redis.options
  t.equal(reconnectOnError?.(new Error('ERR something')), false)
  t.equal(retryStrategy?.(1), 2_000)
  redis.emit('close')
  t.strictSame(events(), ['redis_lost'])
  redis.emit('ready')
  t.strictSame(events(), ['redis_back'])

  t.equal(reconnectOnError?.(new Error('ERR Error running script: -READONLY You cannot write')), true)
  t.equal(reconnectOnError?.(new Error('READONLY')), false, 'again within two seconds')
  t.strictSame([retryStrategy?.(1), retryStrategy?.(2)], [50, 2_000])
  redis.emit('close')
  t.strictSame(events(), [])
  t.equal(retryStrategy?.(1), 50)
  redis.emit('close')
  t.strictSame(events(), ['redis_lost'])
  t.equal(retryStrategy?.(1), 2_000)
  redis.emit('ready')
  t.strictSame(events(), ['redis_back'])
})

t.test('connectRedis() disconnects from a replica again after two seconds', async (t) => {
  const clock = { nowMs: 10_000 }
  const now = t.intercept(performance, 'now', { value: () => clock.nowMs, configurable: true })
  const { redis } = await connected(t, { mayBeAway: true })
  const { reconnectOnError } = redis.options
  const error = new Error('READONLY')
  t.equal(reconnectOnError?.(error), true)
  clock.nowMs = 11_999
  t.equal(reconnectOnError?.(error), false)
  clock.nowMs = 12_000
  t.equal(reconnectOnError?.(error), true)
  now()
})
