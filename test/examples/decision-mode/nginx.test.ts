import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import t from 'tap'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { OK_REPLY, startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { type Ingress, startExample, testIngress } from './ingress.ts'

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
const ROOT = resolve(import.meta.dirname, '../../..')
const FOLDER = resolve(ROOT, 'examples/decision-mode/nginx')
const PAGE = readFileSync(resolve(ROOT, 'docs/decide-for-another-gateway.md'), 'utf8')

const NGINX = {
  name: 'nginx',
  protocol: 'auth-request',
  hasHeaderPatterns: false,
  adapt: (text: string, dir: string) =>
    text.includes('http {')
      ? `pid ${dir}/nginx.pid;\nerror_log stderr;\ndaemon off;\nmaster_process off;\n${text.replace('http {', `http { access_log off; ${TEMPORARY.map((one) => `${one}_temp_path ${dir}/${one};`).join(' ')}`)}`
      : text,
  command: (dir: string) => ['nginx', '-c', `${dir}/example/nginx.conf`, '-p', dir],
} satisfies Ingress

testIngress(NGINX)

t.test('nginx asks for all decisions on one connection', async (t) => {
  const upstream = await startRecordingUpstream()
  t.teardown(() => upstream.close())
  let connections = 0
  const decisions = createServer((_request, response) => response.end()).on('connection', () => {
    connections += 1
  })
  await once(decisions.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    decisions.closeAllConnections()
    decisions.close()
  })
  const { port } = decisions.address() as AddressInfo
  const to = { decisions: `http://127.0.0.1:${port}`, upstream: upstream.url }
  const url = await startExample(t, { ...NGINX, folder: FOLDER }, to)
  for (const path of ['/pub/x', '/.well-known/x', '/pub/y', '/pub/z'])
    t.equal((await send(`${url}${path}`)).status, 200)
  t.equal(connections, 1)
})

/** Adds the directives of the page to the blocks of the example. */
function addBrowserDirectives(text: string): string {
  const blocks = [...PAGE.matchAll(/^```nginx in (.*)\n([\s\S]*?)^```$/gm)]
  t.same(
    blocks.map(([, where]) => where),
    ['server', 'location /', 'location @denied'],
  )
  return blocks.reduce(
    (config, [, where = '', directives = '']) =>
      config.replace(`  ${where} {\n`, `$&${directives.replaceAll('$', '$$$$')}`),
    text,
  )
}

t.test('with the directives of the page, a page of a browser can use the API through nginx', async (t) => {
  const { decisions, gateway, upstream } = await startDecisionEndpoint(t, 'auth-request')
  const adapt = (text: string, dir: string) => NGINX.adapt(addBrowserDirectives(text), dir)
  const example = { ...NGINX, folder: FOLDER, adapt }
  const url = await startExample(t, example, { decisions, upstream: upstream.url })
  const before = upstream.requests.length
  const origin = 'https://app.example'
  const corsHeaders = ({ headers }: { readonly headers: Headers }) =>
    [...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary')

  for (const [path, from, method] of [
    ['/api/courses', origin, 'GET'],
    ['/api/listed', origin, 'GET'],
    ['/api/listed', origin, 'POST'],
    ['/api/listed', 'https://other.example', 'GET'],
    ['/pub/a%20b?c=%2f', origin, 'PUT'],
    ['/nothing', origin, 'GET'],
    ['/pub/%2e%2e/api/courses', origin, 'GET'],
  ] as const) {
    const preflight = {
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization',
        'x-original-method': 'GET',
        'x-forwarded-uri': '/pub/x',
      },
    }
    const direct = await send(`${gateway.url}${path}`, preflight)
    const reply = await send(`${url}${path}`, preflight)
    t.equal(reply.status, direct.status, `${method} ${path}`)
    t.same(corsHeaders(reply), corsHeaders(direct), `${method} ${path}`)
  }
  t.equal(upstream.requests.length, before, 'the upstream receives no preflight')

  const own = 'access-control-allow-origin: null\r\naccess-control-allow-credentials: true\r\n'
  upstream.reply(OK_REPLY.replace('\r\n', `\r\n${own}`))
  for (const [path, token, status] of [
    ['/api/courses', 'good', 200],
    ['/api/listed', 'good', 200],
    ['/api/listed', undefined, 401],
    ['/api/courses', 'narrow', 403],
    ['/nothing', undefined, 404],
  ] as const) {
    const direct = await send(`${gateway.url}${path}`, { token, headers: { origin } })
    const reply = await send(`${url}${path}`, { token, headers: { origin } })
    t.equal(reply.status, status, path)
    t.same(corsHeaders(reply), corsHeaders(direct), path)
  }
})
