import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { startSentinels } from '../fixtures/redis-sentinel.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { send } from '../fixtures/send.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

// These tests use the settings and the commands of docs/connect-redis.md with real servers.
const run = promisify(execFile)

/** Sends a request that the server can only answer after a write. */
const register = ({ baseUrl }: AuthorizationServer) =>
  send(baseUrl + ENDPOINTS.registration, {
    json: { redirect_uris: ['http://127.0.0.1:49152/callback'], token_endpoint_auth_method: 'none' },
  })

t.test('with the documented values, a primary rejects writes after it lost its last replica', async (t) => {
  const folder = t.testdir()
  const values = documentedBlock('docs/connect-redis.md', 'min-replicas-to-write 1')
  const args = values.split('\n').flatMap((line) => (line === '' ? [] : `--${line}`.split(' ')))
  const primary = await startRedis({ folder, args: [...args, '--repl-diskless-sync-delay', '0'] })
  t.teardown(() => primary.stop())
  const source = ['--replicaof', `127.0.0.1 ${primary.port}`]
  const replica = await startRedis({ folder, args: [...args, ...source] })
  let isRunning = true
  t.teardown(() => (isRunning ? replica.stop() : undefined))
  const redis = new Redis(primary.url)
  t.teardown(() => redis.disconnect())
  await until('the replica is connected', () => redis.set('key', 'value').catch(() => undefined))
  const server = await startServer(t, { store: { type: 'redis' }, redis: { url: primary.url } })
  t.equal((await register(server)).status, 201)
  await replica.stop()
  isRunning = false
  await until('Redis rejects a write', () =>
    redis.set('key', 'value').then(
      () => false,
      (error: Error) => error.message.startsWith('NOREPLICAS'),
    ),
  )
  t.match(await register(server), { status: 503, json: { error: 'temporarily_unavailable' } })
})

t.test('the documented commands block the writes of the primary before a failover', async (t) => {
  const sentinels = await startSentinels(t.testdir())
  t.teardown(() => sentinels.stop())
  const [primary] = sentinels.servers
  const [sentinel = ''] = sentinels.addresses
  const commands = documentedBlock('docs/connect-redis.md', 'CLIENT PAUSE 5000 WRITE')
    .replace('-h redis-0', `-p ${primary.port}`)
    .replace('-h sentinel-0 -p 26379', `-p ${sentinel.split(':')[1]}`)
  const [pause = '', failover = '', ...others] = commands.trim().split('\n')
  t.same(others, [])
  const options = { name: sentinels.name, addresses: sentinels.addresses }
  const server = await startServer(t, { store: { type: 'redis' }, redis: { sentinel: options } })
  t.equal((await register(server)).status, 201)
  const redis = new Redis(primary.url)
  t.teardown(() => redis.disconnect())

  t.match((await run('bash', ['-euc', pause])).stdout, 'OK')
  const waiting = register(server)
  await until('the write of the server waits at the primary', async () =>
    // A client that reads revocations is also blocked, in XREAD.
    / flags=b .* cmd=(?!xread )/.test(String(await redis.call('CLIENT', 'LIST'))),
  )
  t.match((await run('bash', ['-euc', failover])).stdout, 'OK')
  const port = await sentinels.nextPrimary(primary.port)
  const next = new Redis({ port, host: '127.0.0.1' })
  t.teardown(() => next.disconnect())
  const answers = [await waiting]
  await until('the server writes to the new primary', async () => {
    answers.push(await register(server))
    return answers.at(-1)?.status === 201
  })
  t.same(
    answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 503),
    [],
  )
  const clients = await next.keys('*:Client:*')
  t.equal(
    clients.length,
    answers.filter(({ status }) => status === 201).length + 1,
    'the new primary has each client that the server confirmed',
  )
})
