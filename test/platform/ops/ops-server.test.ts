import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { createLogger } from '../../../platform/logging/logger.ts'
import { type ReadinessCheck, startOpsServer } from '../../../platform/ops/ops-server.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'

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
    registry: new Registry(),
    checks: () => checks,
    logger: createLogger({ level: 'silent', service: 'test' }),
  })
  t.teardown(() => server.close())
  return server.url
}

const ask = (url: string, path: string, host: string, version = '1.1') =>
  sendBytes(url, `GET ${path} HTTP/${version}\r\n${host}connection: close\r\n\r\n`)

t.test(
  'the management port answers no name of somebody else: a page cannot read it by rebinding its own',
  async (t) => {
    const url = await start(t)
    for (const path of PATHS) {
      const { text, statuses } = await ask(url, path, 'host: evil.example:9090\r\n')
      // A path that is none never gets as far.
      t.same(statuses, [path === '/%zz' ? 400 : 421], path)
      t.notMatch(text, /made-up-secret-check|scopegate_|node/, path)
    }
    const { text } = await ask(url, '/metrics', 'host: evil.example\r\n')
    t.match(text, /content-type: application\/json/)
    t.match(text, /"error":"misdirected_request"/)
    t.match(text, /management\.names/, 'the body says the cure')
    t.notMatch(text, /evil\.example/, 'and does not say what was sent')
  },
)

t.test('a name in the request line makes no difference', async (t) => {
  const url = await start(t)
  const { statuses } = await ask(url, 'http://127.0.0.1/metrics', 'host: evil.example\r\n')
  t.same(statuses, [421])
})

t.test('it answers to addresses, as probes and scrapers send them, and to localhost', async (t) => {
  const url = await start(t)
  for (const host of ['10.42.0.17:9090', '127.0.0.1:1', '[fd00::17]:9090', 'localhost:9090'])
    t.same((await ask(url, '/metrics', `host: ${host}\r\n`)).statuses, [200], host)
})

t.test('it answers to a name that it was given', async (t) => {
  const url = await start(t, ['gw-scopegate.gateways.svc'])
  t.same((await ask(url, '/livez', 'host: gw-scopegate.gateways.svc:9090\r\n')).statuses, [200])
  t.same((await ask(url, '/livez', 'host: gw-scopegate\r\n')).statuses, [421])
})

t.test('a probe of HTTP/1.0 may leave the name out; no browser does', async (t) => {
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

t.test('a failed check makes the service not ready, whatever else is degraded', async (t) => {
  const url = await start(t, undefined, [
    { name: 'policies', ok: false, detail: 'none loaded' },
    { name: 'redis', ok: true, degraded: true },
  ])
  const response = await fetch(`${url}/readyz?verbose`)
  t.equal(response.status, 503)
  t.equal(await response.text(), '[-] policies: none loaded\n[!] redis\nnot ready\n')
})
