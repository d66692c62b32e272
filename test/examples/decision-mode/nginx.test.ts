import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import { testBrowserClients } from './browser-clients.ts'
import { EXAMPLES, type Ingress, startExample, testIngress } from './ingress.ts'

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

const NGINX = {
  name: 'nginx',
  protocol: 'auth-request',
  silentStatus: 500,
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
  const url = await startExample(t, { ...NGINX, folder: join(EXAMPLES, 'nginx') }, to)
  for (const path of ['/pub/x', '/.well-known/x', '/pub/y', '/pub/z'])
    t.equal((await send(`${url}${path}`)).status, 200)
  t.equal(connections, 1)
})

t.test(
  'nginx accepts long headers of a decision, and returns a denial of an invalid request head',
  async (t) => {
    const { decisions, upstream, issuer } = await startDecisionEndpoint(t, NGINX.protocol)
    const example = { ...NGINX, folder: join(EXAMPLES, 'nginx') }
    const url = await startExample(t, example, { decisions, upstream: upstream.url })
    const scope = Array.from({ length: 900 }, (_, index) => `courses:read-${index}`).join(' ')
    issuer.store('wide', { sub: 'user-1', scope: `courses:read ${scope}` })
    t.equal((await send(`${url}/api/courses`, { token: 'wide' })).status, 200)
    t.equal(upstream.seen('x-auth-scope').join().length, scope.length + 'courses:read '.length)

    const forwarded = upstream.requests.length
    for (const [status, lines] of [
      [431, Array.from({ length: 20 }, (_, index) => `x-long-${index}: ${'x'.repeat(1_000)}\r\n`).join('')],
      [400, 'x-name: a\u0001b\r\n'],
    ] as const) {
      const head = `GET /pub/x HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\n${lines}\r\n`
      const { statuses, text } = await sendBytes(url, head)
      t.same(statuses, [status])
      t.match(text, /\r\nx-request-id: \S+\r\n[\s\S]*"error":"invalid_request"/i)
    }
    t.equal(upstream.requests.length, forwarded)
  },
)

testBrowserClients({ ...NGINX, fence: 'nginx' })
