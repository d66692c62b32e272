import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { Counter, Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { createLogger } from '../../../platform/logging/logger.ts'
import { NO_SCHEMA_COMPILERS } from '../../../platform/net/no-schema-compilers.ts'
import { metricsOf } from '../../../platform/ops/metrics-format.ts'
import {
  type OpsServerOptions,
  type ReadinessCheck,
  startOpsServer,
} from '../../../platform/ops/ops-server.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

const PATHS = ['/livez', '/readyz', '/readyz?verbose', '/metrics', '/version', '/nothing', '/%zz']

async function start(
  t: Test,
  names?: readonly string[],
  checks: readonly ReadinessCheck[] = [{ name: 'made-up-secret-check', ok: true }],
): Promise<string> {
  const server = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    names,
    service: 'test',
    version: '0',
    metrics: async () => [],
    checks: () => checks,
    logger: SILENT_LOGGER,
  })
  t.teardown(() => server.close())
  return server.url
}

const ask = (url: string, path: string, host: string, version = '1.1') =>
  sendBytes(url, `GET ${path} HTTP/${version}\r\n${host}connection: close\r\n\r\n`)

t.test('the management port rejects foreign host names, which prevents DNS rebinding', async (t) => {
  const url = await start(t)
  for (const path of PATHS) {
    const { text, statuses } = await ask(url, path, 'host: evil.example:9090\r\n')
    // The server rejects the path `/%zz` before it checks the host.
    t.same(statuses, [path === '/%zz' ? 400 : 421], path)
    t.notMatch(text, /made-up-secret-check|scopegate_|node/, path)
  }
  const { text } = await ask(url, '/metrics', 'host: evil.example\r\n')
  t.match(text, /content-type: application\/json/)
  t.match(text, /"error":"misdirected_request"/)
  t.match(text, /management\.names/, 'the body names the remedy')
  t.notMatch(text, /evil\.example/, 'the body does not repeat the host')
})

t.test('a host name in the request line has no effect', async (t) => {
  const url = await start(t)
  const { statuses } = await ask(url, 'http://127.0.0.1/metrics', 'host: evil.example\r\n')
  t.same(statuses, [421])
})

t.test(
  'the management port accepts IP addresses, which probes and scrapers send, and localhost',
  async (t) => {
    const url = await start(t)
    for (const host of ['10.42.0.17:9090', '127.0.0.1:1', '[fd00::17]:9090', 'localhost:9090'])
      t.same((await ask(url, '/metrics', `host: ${host}\r\n`)).statuses, [200], host)
  },
)

t.test('the management port accepts a configured name', async (t) => {
  const url = await start(t, ['gw-scopegate.gateways.svc'])
  t.same((await ask(url, '/livez', 'host: gw-scopegate.gateways.svc:9090\r\n')).statuses, [200])
  t.same((await ask(url, '/livez', 'host: gw-scopegate\r\n')).statuses, [421])
})

t.test('an HTTP/1.0 probe may omit the Host header; browsers always send it', async (t) => {
  const url = await start(t)
  t.same((await ask(url, '/livez', '', '1.0')).statuses, [200])
  t.same((await ask(url, '/livez', '', '1.1')).statuses, [400])
})

t.test('a degraded check keeps the service ready and is marked in the verbose list', async (t) => {
  const url = await start(t, undefined, [
    { name: 'policies', ok: true },
    { name: 'redis', ok: true, degraded: true, detail: 'no connection' },
  ])
  const response = await fetch(`${url}/readyz?verbose`)
  t.equal(response.status, 200)
  t.equal(await response.text(), '[+] policies\n[!] redis: no connection\nok (degraded)\n')
})

t.test('a failed check makes the service not ready, also with degraded checks', async (t) => {
  const url = await start(t, undefined, [
    { name: 'policies', ok: false, detail: 'none loaded' },
    { name: 'redis', ok: true, degraded: true },
  ])
  const response = await fetch(`${url}/readyz?verbose`)
  t.equal(response.status, 503)
  t.equal(await response.text(), '[-] policies: none loaded\n[!] redis\nnot ready\n')
})

/** The server has all options of a service. Returns the log lines. */
async function startWhole(t: Test, options: Partial<OpsServerOptions> = {}) {
  const lines: Record<string, unknown>[] = []
  const registry = new Registry()
  new Counter({ name: 'made_up_total', help: 'Made up.', registers: [registry] }).inc(3)
  const server = await startOpsServer({
    host: '127.0.0.1',
    port: 0,
    service: 'test',
    version: '1.2.3',
    metrics: () => metricsOf(registry),
    checks: () => [],
    logger: createLogger(
      { level: 'info', service: 'test' },
      { write: (line) => lines.push(JSON.parse(line)) },
    ),
    ...options,
  })
  t.teardown(() => server.close())
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`${server.url}${path}`, { method })
    return [response.status, response.headers.get('content-type'), await response.text()] as const
  }
  return { server, lines, get }
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain'

t.test('the management port sends exactly the expected response for each path', async (t) => {
  const endpoints = [
    { method: 'GET', path: '/state', respond: () => ({ status: 200, body: {} }) },
    { method: 'POST', path: '/change', respond: () => ({ status: 200, body: {} }) },
  ] as const
  const { get, server } = await startWhole(t, { endpoints })
  t.match(server.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.strictSame(await get('/livez'), [200, TEXT_TYPE, 'ok\n'])
  t.strictSame(await get('/readyz'), [200, TEXT_TYPE, 'ok\n'])
  t.strictSame(await get('/readyz?verbose'), [200, TEXT_TYPE, 'ok\n'])
  t.strictSame(await get('/metrics'), [
    200,
    'text/plain; version=0.0.4; charset=utf-8',
    '# HELP made_up_total Made up.\n# TYPE made_up_total counter\nmade_up_total 3\n',
  ])
  t.strictSame(await get('/version'), [
    200,
    JSON_TYPE,
    `{"service":"test","version":"1.2.3","node":"${process.version}"}`,
  ])
  t.strictSame(await get('/nothing'), [
    404,
    JSON_TYPE,
    '{"error":"not_found","error_description":"Available paths: /livez, /readyz, /metrics, /state, /change and /version."}',
  ])
  t.strictSame(await get('/livez', 'POST'), [
    404,
    JSON_TYPE,
    '{"error":"not_found","error_description":"Available paths: /livez, /readyz, /metrics, /state, /change and /version."}',
  ])
  const { text } = await ask(server.url, '/livez', 'host: evil.example\r\n')
  t.match(text, /^HTTP\/1\.1 421 Misdirected Request\r\n/)
  t.equal(
    text.split('\r\n\r\n')[1],
    '{"error":"misdirected_request","error_description":"The management port accepts requests for IP addresses, localhost and the names in management.names."}',
  )
})

t.test('/readyz summarizes the checks, and lists them with ?verbose', async (t) => {
  const good = { name: 'a', ok: true }
  const degraded = { name: 'b', ok: true, degraded: true, detail: 'slow' }
  const bad = { name: 'c', ok: false, degraded: true, detail: 'gone' }
  let checks: readonly ReadinessCheck[] = []
  const { get } = await startWhole(t, { checks: async () => checks })
  for (const [now, status, summary, list] of [
    [[good], 200, 'ok\n', '[+] a\n'],
    [[good, { ...good, degraded: false }], 200, 'ok\n', '[+] a\n[+] a\n'],
    [[good, degraded], 200, 'ok (degraded)\n', '[+] a\n[!] b: slow\n'],
    [[degraded, bad], 503, 'not ready\n', '[!] b: slow\n[-] c: gone\n'],
    [[bad, good], 503, 'not ready\n', '[-] c: gone\n[+] a\n'],
  ] as const) {
    checks = now
    t.strictSame(await get('/readyz'), [status, TEXT_TYPE, summary])
    t.strictSame(await get('/readyz?verbose'), [status, TEXT_TYPE, list + summary])
  }
})

t.test('a defect gets 500 and is logged; an invalid request is not logged', async (t) => {
  const { get, lines, server } = await startWhole(t, {
    checks: () => {
      throw new Error('made up')
    },
  })
  t.strictSame(await get('/readyz'), [
    500,
    JSON_TYPE,
    '{"error":"server_error","error_description":"Internal error. See the log."}',
  ])
  t.match(lines, [
    {
      level: 'error',
      service: 'test',
      event: 'management_error',
      err: { type: 'Error', message: 'made up' },
      msg: 'a request on the management port failed',
    },
  ])
  const body = 'x'.repeat(1_025)
  const { text } = await sendBytes(
    server.url,
    `DELETE /nothing HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 1025\r\n\r\n${body}`,
  )
  t.match(text, /^HTTP\/1\.1 413 /)
  t.equal(
    text.split('\r\n\r\n')[1],
    '{"error":"invalid_request","error_description":"The body must have at most 1024 bytes."}',
  )
  t.equal(lines.length, 1)
})

t.test('the management port limits the time of requests and connections', async (t) => {
  const { get } = await startWhole(t)
  const servers = new Set<Server>()
  const onStart = (message: unknown): void => void servers.add((message as { server: Server }).server)
  subscribe('http.server.request.start', onStart)
  t.teardown(() => unsubscribe('http.server.request.start', onStart))
  await get('/livez')
  t.strictSame(
    [...servers].map(({ requestTimeout, timeout }) => ({ requestTimeout, timeout })),
    [{ requestTimeout: 10_000, timeout: 30_000 }],
  )
})

t.test(
  'a connection stays open beyond the limit of idle connections while its response is created',
  async (t) => {
    const work = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const servers = new Set<Server>()
    const onStart = (message: unknown): void => void servers.add((message as { server: Server }).server)
    subscribe('http.server.request.start', onStart)
    t.teardown(() => unsubscribe('http.server.request.start', onStart))
    const { get, server } = await startWhole(t, {
      endpoints: [
        {
          method: 'POST',
          path: '/work',
          async respond() {
            started.resolve()
            await work.promise
            return { status: 200, body: { result: 'done' } }
          },
        },
      ],
    })
    await ask(server.url, '/livez', 'host: localhost\r\n')
    for (const one of servers) one.timeout = 100
    const response = get('/work', 'POST')
    await started.promise
    const idle = connect(Number(new URL(server.url).port), '127.0.0.1')
    await once(idle.resume(), 'close')
    work.resolve()
    t.strictSame(await response, [200, 'application/json; charset=utf-8', '{"result":"done"}'])
  },
)

t.test('close() closes a connection with an incomplete request', async (t) => {
  const { server } = await startWhole(t)
  const { port } = new URL(server.url)
  const socket = connect(Number(port), '127.0.0.1')
  const first = once(socket, 'data')
  socket.write('GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\nGET /livez HTTP/1.1\r\n')
  await first
  const closed = once(
    socket.resume().on('error', () => undefined),
    'close',
  )
  await server.close()
  await closed
})

t.test('startOpsServer() explains an address that is in use', async (t) => {
  const { server } = await startWhole(t)
  const port = Number(new URL(server.url).port)
  await t.rejects(startWhole(t, { port }), {
    name: 'BootError',
    code: 'ERR_PORT_TAKEN',
    message: `test (management): another program listens on 127.0.0.1:${port} already. End that program, or choose another port (management.port).`,
  })
})

t.test('a route with a schema fails, because no schema compiler is loaded', async (t) => {
  const { buildValidator, buildSerializer } = NO_SCHEMA_COMPILERS.compilersFactory
  for (const build of [buildValidator, buildSerializer])
    t.throws(build, { message: 'this server has no schema compilers: remove the schema of the route' })
})
