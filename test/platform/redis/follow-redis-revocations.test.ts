import { execFileSync } from 'node:child_process'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { writeRevocation } from '../../../oauth/revocation.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { followRedisRevocations } from '../../../platform/redis/follow-redis-revocations.ts'
import type { RedisClient } from '../../../platform/redis/redis-client.ts'
import { REVOCATION_FIELD, REVOCATION_STREAM } from '../../../platform/redis/revocation-keys.ts'
import { aRevocation } from '../../fixtures/a-revocation.ts'
import { startFaultProxy } from '../../fixtures/fault-proxy.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

t.jobs = 4 // each test starts its own Redis and needs little CPU time

/** Starts a Redis with a writer and a follower. The test can interrupt the network connection of the follower. */
async function setUp(t: Test, options: { readonly fromStart?: boolean; readonly user?: string } = {}) {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  const way = await startFaultProxy(server.port)
  t.teardown(async () => {
    redis.disconnect()
    await way.close()
    await server.stop()
  })
  const told: (string | undefined)[] = []
  const seen = { gaps: 0, alive: 0, lost: [] as string[] }
  const follow = async (): Promise<void> => {
    const follower = await followRedisRevocations({
      url: `redis://${options.user ?? ''}127.0.0.1:${way.port}`,
      fromStart: options.fromStart ?? true,
      onEntries: (entries) => void told.push(...entries.map(({ revocation }) => revocation?.grant)),
      onGap: () => (seen.gaps += 1),
      onAlive: async () => {
        seen.alive += 1
      },
      onLost: (reason) => void seen.lost.push(reason),
    })
    t.teardown(() => follower.close())
  }
  const write = (text: string) => redis.xadd(REVOCATION_STREAM, '*', REVOCATION_FIELD, text)
  const revoke = (grant: string) => write(writeRevocation(aRevocation({ issuer: 'https://a.test', grant })))
  const alive = () => {
    const before = seen.alive
    return until('the follower is connected', async () => seen.alive > before)
  }
  return { server, redis, way, told, seen, follow, write, revoke, alive }
}

t.test(
  'a follower reports existing entries first and then new entries, also after a broken connection',
  async (t) => {
    const { way, told, seen, follow, revoke, alive } = await setUp(t)
    await revoke('a')
    await revoke('b')
    await follow()
    await alive()
    t.same(told, ['a', 'b'])
    await revoke('c')
    await until('the entries are reported', async () => told.length === 3)
    await way.down()
    await until('the connection is lost', async () => seen.lost.length > 0)
    await revoke('d')
    await revoke('e')
    const before = way.connections
    await way.up()
    await until('the entries are reported', async () => told.length === 5)
    t.same(told, ['a', 'b', 'c', 'd', 'e'])
    t.equal(seen.gaps, 1, 'the gap at the start')
    t.ok(way.connections > before)
  },
)

t.test('a follower without a position reports no old entries', async (t) => {
  const { told, seen, follow, revoke, alive } = await setUp(t, { fromStart: false })
  await revoke('a')
  await follow()
  await alive()
  await revoke('b')
  await until('the entries are reported', async () => told.length > 0)
  t.same(told, ['b'])
  t.equal(seen.gaps, 1)
})

t.test('a stream that was deleted and recreated, even with smaller IDs, is reported as a gap', async (t) => {
  const { redis, told, seen, follow, revoke, alive } = await setUp(t)
  await revoke('a')
  await follow()
  await alive()
  await redis.flushall()
  const text = writeRevocation(aRevocation({ issuer: 'https://a.test', grant: 'b' }))
  await redis.xadd(REVOCATION_STREAM, '1-1', REVOCATION_FIELD, text) // smaller ID: the clock of Redis was set back
  await until('the entries are reported', async () => told.length === 2)
  t.same(told, ['a', 'b'])
  t.equal(seen.gaps, 2)
  await revoke('c')
  await until('the entries are reported', async () => told.length === 3)
  t.equal(seen.gaps, 2)
})

t.test(
  'a position that was trimmed from the stream is a gap, and the whole stream is read again',
  async (t) => {
    const { redis, way, told, seen, follow, revoke, alive } = await setUp(t)
    await revoke('a')
    await follow()
    await alive()
    await way.down()
    await until('the connection is lost', async () => seen.lost.length > 0)
    await revoke('b')
    await revoke('c')
    await redis.xtrim(REVOCATION_STREAM, 'MAXLEN', 1)
    await way.up()
    await until('the entries are reported', async () => told.length === 2)
    t.same(told, ['a', 'c'])
    t.equal(seen.gaps, 2)
  },
)

t.test('a follower reports a gap when Redis trims the next entries during a read', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.stop()
  })
  const text = writeRevocation(aRevocation({ issuer: 'https://a.test', grant: 'g' }))
  const pipeline = redis.pipeline()
  for (let i = 0; i < 2_500; i++) pipeline.xadd(REVOCATION_STREAM, '*', REVOCATION_FIELD, text)
  await pipeline.exec()
  const calls: (number | 'gap')[] = []
  const follower = await followRedisRevocations({
    url: server.url,
    fromStart: true,
    onEntries(entries) {
      // Trims the stream before the follower requests the next page. The call is synchronous.
      if (calls.length === 1) trimSync(server.port, 10)
      calls.push(entries.length)
    },
    onGap: () => calls.push('gap'),
  })
  t.teardown(() => follower.close())
  await until('the last page is read', async () => calls.at(-1) === 10)
  t.same(calls, ['gap', 1_000, 'gap', 10], 'the gap at the start, and the gap before the last page')
})

function trimSync(port: number, length: number): void {
  const command = `XTRIM ${REVOCATION_STREAM} MAXLEN ${length}\\r\\n`
  const script = `const socket = require('node:net').connect(${port}, '127.0.0.1', () => socket.write('${command}')); socket.once('data', () => socket.end())`
  execFileSync(process.execPath, ['-e', script])
}

t.test('an unreadable entry of the stream is reported as unreadable', async (t) => {
  const { redis, told, follow, write, revoke } = await setUp(t)
  await follow()
  const junk = ['', '{', 'null', '{"grant":7}', '[['.repeat(10_000), '\u0000', 'x'.repeat(1_000_000)]
  for (const text of junk) await write(text)
  await redis.xadd(REVOCATION_STREAM, '*', 'something', 'else')
  await redis.xadd(REVOCATION_STREAM, '*', 'x', REVOCATION_FIELD)
  await revoke('a')
  await until('the entries are reported', async () => told.includes('a'))
  t.same(told, [...junk.map(() => undefined), undefined, undefined, 'a'])
})

t.test('a large backlog is read completely and without loss', async (t) => {
  const { redis, told, seen, follow, alive } = await setUp(t)
  await follow()
  await alive()
  const flood = 30_000
  const text = writeRevocation(aRevocation({ issuer: 'https://a.test', grant: 'g' }))
  const pipeline = redis.pipeline()
  for (let i = 0; i < flood; i++) pipeline.xadd(REVOCATION_STREAM, '*', REVOCATION_FIELD, text)
  await pipeline.exec()
  await until('the entries are reported', async () => told.length === flood)
  t.equal(seen.gaps, 1)
})

t.test(
  'a follower reports a gap after each connection to a Redis that does not report its process ID',
  async (t) => {
    const { redis, way, told, seen, follow, revoke, alive } = await setUp(t, { user: 'reader:secret@' })
    await redis.call('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@all', '-info')
    await revoke('a')
    await follow()
    await alive()
    way.reset()
    await until('the entry is reported again', async () => told.length >= 2)
    t.ok(seen.gaps >= 2, `${seen.gaps} times`)
  },
)

t.test('a key of another type does not cause a busy loop', async (t) => {
  const { redis, seen, follow, revoke, told } = await setUp(t)
  await redis.set(REVOCATION_STREAM, 'junk')
  const startedMs = performance.now()
  await follow()
  const reason = await until('the connection is lost', async () => seen.lost[0])
  t.match(reason, /WRONGTYPE/)
  t.equal(seen.alive, 0)
  await redis.del(REVOCATION_STREAM)
  await revoke('a')
  await until('the entries are reported', async () => told.length === 1)
  const seconds = (performance.now() - startedMs) / 1_000
  t.ok(seen.lost.length <= seconds + 1, `${seen.lost.length} attempts in ${seconds.toFixed(1)} s`)
})

t.test('a follower connects to an unstable Redis at most once per second, and loses no entry', async (t) => {
  const { way, told, follow, revoke, alive } = await setUp(t)
  await follow()
  await alive()
  const before = way.connections
  const startedMs = performance.now()
  for (let i = 0; i < 4; i++) {
    await revoke(`g${i}`)
    const seen = way.connections
    way.reset()
    await until('connected again', async () => way.connections > seen)
  }
  const seconds = (performance.now() - startedMs) / 1_000
  t.ok(way.connections - before <= seconds + 1, `${way.connections - before} in ${seconds.toFixed(1)} s`)
  await until('the entries are reported', async () => told.length >= 4)
  t.same([...new Set(told)], ['g0', 'g1', 'g2', 'g3'])
})

t.test('a follower detects a frozen Redis, and continues when Redis responds again', async (t) => {
  const { server, told, seen, follow, revoke, alive } = await setUp(t)
  await follow()
  await alive()
  await revoke('a')
  await until('the entries are reported', async () => told.length === 1)
  server.freeze()
  await until('the connection is lost', async () => seen.lost.length > 0)
  server.thaw()
  await revoke('b')
  await until('the entries are reported', async () => told.length === 2)
  t.same(told, ['a', 'b'])
  t.equal(seen.gaps, 1)
})

t.test('a follower reads 1,000 entries in one batch, and waits one second for new entries', async (t) => {
  const { redis, follow, alive } = await setUp(t)
  const monitor = await redis.monitor()
  t.teardown(() => monitor.disconnect())
  const commands: string[] = []
  monitor.on('monitor', (_time: string, args: readonly string[]) =>
    commands.push(args.join(' ').toLowerCase()),
  )
  await follow()
  await alive()
  await until('the follower waits', async () => commands.some((one) => one.startsWith('xread')))
  const stream = REVOCATION_STREAM
  t.strictSame(commands.filter((one) => one.startsWith('x')).slice(0, 2), [
    `xrange ${stream} (0-0 + count 1000`,
    `xread count 1000 block 1000 streams ${stream} 0-0`,
  ])
})

t.test(
  'a follower reports the server process, gives its connection to onAlive(), and logs the connection',
  async (t) => {
    const { redis, way, revoke } = await setUp(t)
    await revoke('a')
    const events: unknown[] = []
    const runIds: unknown[] = []
    const connections: RedisClient[] = []
    const logger = createLogger(
      { level: 'info', service: 'test' },
      { write: (line) => events.push(JSON.parse(line).event) },
    )
    await way.down()
    const follower = await followRedisRevocations({
      url: `redis://127.0.0.1:${way.port}`,
      fromStart: true,
      onEntries: (_entries, runId) => runIds.push(runId),
      onGap: () => undefined,
      onAlive: async (redis) => void connections.push(redis),
      logger,
    })
    t.strictSame(events, ['redis_unreachable'])
    await way.up()
    await until('the follower is connected', async () => connections.length > 0)
    t.strictSame(events, ['redis_unreachable', 'redis_back'])
    const [, runId] = /run_id:(\w+)/.exec(await redis.info('server')) ?? []
    t.strictSame(runIds, [runId])
    t.match(connections[0]?.options, { commandTimeout: 2_500, socketTimeout: 2_000 })
    await follower.close()
    t.equal(connections[0]?.status, 'end')
  },
)

t.test('close() ends a follower immediately while it waits for its next attempt', async (t) => {
  const { way } = await setUp(t)
  await way.down()
  let lost = 0
  const follower = await followRedisRevocations({
    url: `redis://127.0.0.1:${way.port}`,
    fromStart: true,
    onEntries: () => undefined,
    onGap: () => undefined,
    onLost: () => (lost += 1),
  })
  await until('the follower fails', async () => lost > 0)
  await follower.close()
  t.equal(lost, 1)
})
