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

t.test('the management port rejects foreign host names, which prevents DNS rebinding', async (t) => {
  const url = await start(t)
  for (const path of PATHS) {
    const { text, statuses } = await ask(url, path, 'host: evil.example:9090\r\n')
    // The HTTP parser rejects an invalid path earlier.
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

t.test('a failed check makes the service not ready, also beside degraded checks', async (t) => {
  const url = await start(t, undefined, [
    { name: 'policies', ok: false, detail: 'none loaded' },
    { name: 'redis', ok: true, degraded: true },
  ])
  const response = await fetch(`${url}/readyz?verbose`)
  t.equal(response.status, 503)
  t.equal(await response.text(), '[-] policies: none loaded\n[!] redis\nnot ready\n')
})
