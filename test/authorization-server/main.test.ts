import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { send } from '../fixtures/send.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'
import { writeSigningKeys } from '../fixtures/write-signing-keys.ts'

const MAIN = join(findPackageRoot(), 'authorization-server', 'main.ts')

type Run = {
  readonly child: ChildProcess
  output(): string
  readonly ended: Promise<number | null>
  readonly ready: Promise<{ url: string; managementUrl: string }>
}

/** Starts the process with these environment variables and options of Node.js. */
function run(t: Test, env: Record<string, string>, execArgv: readonly string[] = []): Run {
  const dataDir = env['SCOPEGATE_DATA_DIR'] ?? t.testdir()
  const child = fork(MAIN, {
    execArgv: [...execArgv],
    silent: true,
    env: {
      ...plainEnvironment(),
      SCOPEGATE_DATA_DIR: dataDir,
      SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: join(dataDir, 'gateway-client-secret'),
      SCOPEGATE_DEVELOPMENT: 'true',
      SCOPEGATE_LISTEN__PORT: '0',
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s',
      ...env,
    },
  })
  let output = ''
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null)
  for (const stream of streams)
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  t.teardown(() => child.kill('SIGKILL'))
  return {
    child,
    output: () => output,
    // Waits for `exit` and the ends of the streams. Node.js does not emit `close` for a child after the parent has
    // disconnected the IPC channel.
    ended: Promise.all([once(child, 'exit'), ...streams.map((stream) => once(stream, 'end'))]).then(
      ([[code]]) => code as number | null,
    ),
    ready: once(child, 'message').then(([message]) => message as { url: string; managementUrl: string }),
  }
}

t.test(
  'reports a port in use, a read-only folder and an unreadable key file without a stack trace',
  async (t) => {
    const blocker = createServer().listen(0, '127.0.0.1')
    await once(blocker, 'listening')
    t.teardown(() => blocker.close())
    const address = blocker.address()
    const taken = typeof address === 'object' ? String(address?.port) : ''
    const dir = t.testdir({ file: '', data: {}, keys: '{}' })
    const cases: readonly [Record<string, string>, RegExp, number][] = [
      [
        { SCOPEGATE_LISTEN__PORT: taken },
        new RegExp(
          `^authorization-server: another program listens on 127\\.0\\.0\\.1:${taken} already. End that program, or choose another port \\(PORT or listen.port in config/authorization-server.yaml\\).$`,
          'm',
        ),
        1,
      ],
      [{ SCOPEGATE_DATA_DIR: join(dir, 'file', 'data') }, /Cannot write .*dataDir/, 1],
      [
        { SCOPEGATE_LOG__AUDIT_FILE: join(dir, 'file', 'audit.log') },
        /cannot open the file for audit lines \(ENOTDIR\).*log\.auditFile/,
        1,
      ],
      [
        { SCOPEGATE_SIGNING_KEYS_FILE: join(dir, 'missing') },
        /Cannot read .*missing \(signingKeysFile\): ENOENT/,
        1,
      ],
      [{ SCOPEGATE_SIGNING_KEYS_FILE: join(dir, 'keys') }, /the file contains no keys/, 3],
      [{ SCOPEGATE_DEVELOPMENT: 'false' }, /Cannot read .*gatewayClient\.secretFile/, 1],
      [{ SCOPEGATE_STORE__TYPE: 'redis' }, /redis\.url/, 3],
      [
        { SCOPEGATE_LIFETIMES__CODE: '1 minute', SCOPEGATE_ISSUER: 'nowhere' },
        /(LIFETIMES__CODE.*ISSUER|ISSUER.*LIFETIMES__CODE)/s,
        3,
      ],
    ]
    for (const [index, [env, message, exitCode]] of cases.entries()) {
      const data = { SCOPEGATE_DATA_DIR: join(dir, 'data', String(index)) }
      const ran = run(t, { ...data, ...env })
      t.equal(await ran.ended, exitCode, ran.output())
      t.match(ran.output(), message)
      t.notMatch(ran.output(), /\n +at /)
    }
  },
)

/** A store that does not run, and a function that starts the store at the same address. */
const LATE_STORES = {
  redis: async (t: Test) => {
    const { port, url, stop } = await startRedis({ folder: t.testdir() })
    await stop()
    const start = async () => {
      const redis = await startRedis({ folder: t.testdir(), port })
      t.teardown(() => redis.stop())
    }
    const env = { SCOPEGATE_STORE__TYPE: 'redis', REDIS_URL: url }
    const message = `Redis at redis://127.0.0.1:${port} cannot be reached (ECONNREFUSED). Start Redis, or correct redis.url`
    return { env, start, message }
  },
  postgres: async (t: Test) => {
    const { port, url, stop, start, remove } = await startPostgres()
    t.teardown(remove)
    await stop()
    const env = { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: url }
    const message = `PostgreSQL at postgres://127.0.0.1:${port}/scopegate cannot be reached (connect ECONNREFUSED 127.0.0.1:${port}). Start PostgreSQL, or correct postgres.url`
    return { env, start, message }
  },
}

for (const [type, prepare] of Object.entries(LATE_STORES))
  t.test(`without the store ${type}, the server exits with 1, and its next start succeeds`, async (t) => {
    const { env, start, message } = await prepare(t)
    const early = run(t, env)
    t.equal(await early.ended, 1, early.output())
    t.match(early.output(), message)
    t.notMatch(early.output(), /\n +at /)
    await start()
    const ran = run(t, env)
    const { managementUrl } = await ran.ready
    t.equal((await send(`${managementUrl}/readyz`)).status, 200)
    ran.child.kill('SIGTERM')
    t.equal(await ran.ended, 0, ran.output())
  })

t.test(
  'after SIGTERM, the server is not ready, accepts requests for drain.delay, and completes an open request',
  async (t) => {
    const ran = run(t, { SCOPEGATE_DRAIN__DELAY: '10s' })
    const { url, managementUrl } = await ran.ready
    const { hostname, port } = new URL(url)
    const body = 'grant_type=refresh_token&refresh_token=x&client_id=nobody'
    const half = connect({ host: hostname, port: Number(port) })
    let finished = ''
    half.setEncoding('utf8').on('data', (text: string) => {
      finished += text
    })
    half.write(
      `POST ${ENDPOINTS.token} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    )
    const isReady = async () => (await send(`${managementUrl}/readyz`)).status === 200
    let failed = 0
    let answered = 0
    let isDraining = false
    /** Simulates a load balancer that sends requests until the server is not ready. */
    const client = async (): Promise<void> => {
      while (!isDraining) {
        const { status } = await fetch(`${url}${ENDPOINTS.jwks}`).catch(() => ({ status: 0 }))
        if (status === 200) answered += 1
        else failed += 1
      }
    }
    const clients = Array.from({ length: 8 }, client)
    await until('requests succeed', async () => answered > 50)
    ran.child.kill('SIGTERM')
    await until('the server is not ready', async () => !(await isReady()))
    const atTurn = answered
    t.match(await send(`${managementUrl}/readyz?verbose`), { status: 503, text: '[-] accepting' })
    for (let index = 0; index < 20; index++) {
      const response = await fetch(`${url}${ENDPOINTS.openidConfiguration}`)
      t.equal(response.status, 200)
      t.equal(response.headers.get('connection'), 'close', 'the response closes the connection')
      await response.arrayBuffer()
    }
    await until('the server still accepts requests while it is not ready', async () => answered > atTurn + 20)
    isDraining = true
    await Promise.all(clients)
    t.equal(failed, 0, `of ${answered}`)
    await until('the server stops accepting connections', () =>
      fetch(`${url}${ENDPOINTS.jwks}`).then(
        () => false,
        () => true,
      ),
    )
    half.write(body.slice(10))
    t.equal(await ran.ended, 0, ran.output())
    t.match(finished, /^HTTP\/1\.1 401 .*"error":"invalid_client"/s, 'the open request gets a response')
  },
)

t.test('after SIGTERM, the server accepts the connections in the queue of the system', async (t) => {
  const ran = run(t, { SCOPEGATE_DRAIN__DELAY: '0s' })
  const { url } = await ran.ready
  await send(`${url}${ENDPOINTS.jwks}`)
  ran.child.kill('SIGSTOP') // a busy server
  const sockets = Array.from({ length: 30 }, () =>
    connect({ host: '127.0.0.1', port: Number(new URL(url).port) }),
  )
  const responses = sockets.map(async (socket) => {
    socket.write(`GET ${ENDPOINTS.jwks} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
    const [response] = await once(socket, 'data')
    return String(response).split('\r\n')[0]
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  ran.child.kill('SIGTERM')
  ran.child.kill('SIGCONT')
  t.strictSame(
    await Promise.all(responses),
    sockets.map(() => 'HTTP/1.1 200 OK'),
  )
  for (const socket of sockets) socket.destroy()
  t.equal(await ran.ended, 0, ran.output())
})

t.test(
  'reports readiness with exactly these log fields and message fields, and exits with 0 on SIGTERM',
  async (t) => {
    const issuer = 'http://login.test:1234'
    const ran = run(t, {
      SCOPEGATE_ISSUER: issuer,
      REDIS_URL: 'redis://127.0.0.1:1',
      SCOPEGATE_LOG__LEVEL: 'info',
    })
    const { url, managementUrl, ...ready } = await ran.ready
    t.strictSame(ready, { ready: true })
    t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
    t.equal((await send(`${managementUrl}/livez`)).status, 200)
    t.match(await send(`${managementUrl}/readyz?verbose`), { status: 200, text: /\[\+\] store/ })
    ran.child.kill('SIGTERM')
    t.equal(await ran.ended, 0, ran.output())
    const lines = ran
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(lines[0], {
      level: 'warn',
      service: 'authorization-server',
      event: 'config_warning',
      diagnostic: 'C301',
    })
    const fieldsOf = (event: string) => {
      const { time: _time, ...fields } = lines.find((line) => line.event === event) ?? {}
      return fields
    }
    const service = 'authorization-server'
    t.strictSame(fieldsOf('development_mode'), {
      level: 'warn',
      service,
      event: 'development_mode',
      accounts: ['alice', 'bob'],
      msg: 'DEVELOPMENT MODE: anybody can sign in as alice/alice or bob/bob. Never use development mode in production.',
    })
    t.strictSame(fieldsOf('listening'), {
      level: 'info',
      service,
      event: 'listening',
      url,
      management_url: managementUrl,
      issuer,
      msg: 'authorization server ready',
    })
  },
)

t.test(
  'the server logs an exception and a line of a library, continues, and exits with 0 when its parent exits',
  async (t) => {
    const program = `process.on('message', (word) => {
    if (word === 'throw') setImmediate(() => { throw new Error('made up') })
    else console.warn('of a library', 7)
  })`
    const ran = run(t, {}, [`--import=data:text/javascript,${encodeURIComponent(program)}`])
    const { url } = await ran.ready
    ran.child.send('write')
    ran.child.send('throw')
    await until(
      'both lines',
      async () => /uncaught_exception/.test(ran.output()) && /console/.test(ran.output()),
    )
    const lines = ran
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(
      lines.find(({ event }) => event === 'console'),
      { level: 'warn', service: 'authorization-server', msg: 'of a library 7' },
    )
    t.match(
      lines.find(({ event }) => event === 'uncaught_exception'),
      { level: 'error', err: { message: 'made up' } },
    )
    t.equal((await send(`${url}${ENDPOINTS.jwks}`)).status, 200)
    ran.child.disconnect()
    t.equal(await ran.ended, 0, ran.output())
    for (const line of ran.output().trim().split('\n')) t.doesNotThrow(() => JSON.parse(line), line)
  },
)

t.test('rejects a drain configuration without time for open requests', async (t) => {
  const ran = run(t, { SCOPEGATE_DRAIN__DELAY: '20s', SCOPEGATE_DRAIN__GRACE: '20s' })
  t.equal(await ran.ended, 3)
  t.match(ran.output(), /error\[C301\]: drain\.delay must be shorter than drain\.grace/)
})

t.test(
  'a server that starts before its store exits, and the next start after the store succeeds',
  async (t) => {
    const postgres = await startPostgres()
    t.teardown(() => postgres.remove())
    await postgres.stop()
    const redisPort = await quietPort()
    const stores = [
      {
        env: {
          SCOPEGATE_STORE__TYPE: 'postgres',
          SCOPEGATE_POSTGRES__URL: `${postgres.url}?sslmode=disable`,
        },
        message: /^PostgreSQL at \S+ cannot be reached .* Start PostgreSQL, or correct postgres\.url/m,
        start: () => postgres.start(),
      },
      {
        env: { SCOPEGATE_STORE__TYPE: 'redis', REDIS_URL: `redis://127.0.0.1:${redisPort}` },
        message: /^Redis at \S+ cannot be reached .* Start Redis, or correct redis\.url/m,
        start: async () => {
          const redis = await startRedis({ folder: t.testdir(), port: redisPort })
          t.teardown(() => redis.stop())
        },
      },
    ]
    for (const { env, message, start } of stores) {
      const dataDir = mkdtempSync(join(tmpdir(), 'scopegate-'))
      t.teardown(() => rmSync(dataDir, { recursive: true }))
      await writeSigningKeys(dataDir)
      const settings = {
        ...env,
        SCOPEGATE_DATA_DIR: dataDir,
        SCOPEGATE_SIGNING_KEYS_FILE: join(dataDir, 'signing-keys.json'),
        SCOPEGATE_COOKIE_KEYS_FILE: join(dataDir, 'cookie-keys'),
      }
      writeFileSync(settings.SCOPEGATE_COOKIE_KEYS_FILE, `${'k'.repeat(48)}\n`)
      const early = run(t, settings)
      t.equal(await early.ended, 1, early.output())
      t.match(early.output(), message)
      await start()
      const { managementUrl } = await run(t, settings).ready
      t.equal((await send(`${managementUrl}/readyz`)).status, 200)
    }
  },
)

t.test('registered clients and keys persist across a restart', async (t) => {
  const dir = t.testdir()
  const issuer = `http://127.0.0.1:${await quietPort()}`
  const env = { SCOPEGATE_DATA_DIR: dir, SCOPEGATE_ISSUER: issuer }
  const first = run(t, env)
  const { url } = await first.ready
  const registered = await send(`${url}${ENDPOINTS.registration}`, {
    json: {
      redirect_uris: ['http://127.0.0.1:4000/callback'],
      token_endpoint_auth_method: 'client_secret_post',
    },
  })
  const keys = (await send(`${url}${ENDPOINTS.jwks}`)).text
  first.child.kill('SIGTERM')
  t.equal(await first.ended, 0)

  const { url: again } = await run(t, env).ready
  const { client_id, client_secret } = registered.json as Record<string, string>
  t.match(
    await send(`${again}${ENDPOINTS.token}`, {
      form: { grant_type: 'refresh_token', refresh_token: 'x', client_id, client_secret },
    }),
    { status: 400, json: { error: 'invalid_grant' } },
  )
  t.equal((await send(`${again}${ENDPOINTS.jwks}`)).text, keys)
})

t.test('with the format ecs, each line of the log has ECS names', async (t) => {
  const ran = run(t, { SCOPEGATE_LOG__FORMAT: 'ecs' })
  const { url } = await ran.ready
  await send(`${url}${ENDPOINTS.token}`, { method: 'POST' })
  ran.child.kill('SIGTERM')
  t.equal(await ran.ended, 0)
  const lines = ran
    .output()
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []))
  t.ok(lines.every((line) => line['ecs.version'] === '8.11.0' && !('level' in line) && !('event' in line)))
  t.match(
    lines.find((line) => line['event.action'] === 'account_added'),
    { 'event.dataset': 'scopegate.audit', 'user.name': 'alice', 'user.id': String },
  )
  t.match(
    lines.find((line) => line['event.dataset'] === 'scopegate.access'),
    { 'url.path': ENDPOINTS.token, 'http.response.status_code': Number, 'event.duration': Number },
  )
})
