import { once } from 'node:events'
import { connect } from 'node:http2'
import { join } from 'node:path'
import t from 'tap'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { OK_REPLY } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { testBrowserClients } from './browser-clients.ts'
import { EXAMPLES, startExample, testIngress } from './ingress.ts'

const program = process.env['SCOPEGATE_ENVOY']
if (program === undefined)
  throw new Error('SCOPEGATE_ENVOY must name the program. Start this test with: npm run ingresses')

for (const [name, protocol, file] of [
  ['Envoy', 'ext-authz-grpc', 'envoy.yaml'],
  ['Envoy over HTTP', 'ext-authz-http', 'envoy-http.yaml'],
] as const) {
  const command = (): [string, ...string[]] => [
    program,
    ...['-c', file, '--use-dynamic-base-id', '--concurrency', '2', '-l', 'warn'],
  ]
  t.test(`${name} forwards no target with a byte that is not UTF-8`, async (t) => {
    const { decisions, gateway, upstream } = await startDecisionEndpoint(t, protocol)
    const example = { name, command, folder: join(EXAMPLES, 'envoy') }
    const to = { decisions, gateway: gateway.url, upstream: upstream.url }
    const session = connect(await startExample(t, example, to))
    t.teardown(() => session.destroy())
    const before = upstream.requests.length
    const get = async (path: string): Promise<number | undefined> => {
      const stream = session.request({ ':path': path, ':authority': 'api.test' })
      const [{ ':status': status }] = await once(stream.resume(), 'response')
      return status
    }
    // Over HTTP, the example has no route for these targets.
    const denied = protocol === 'ext-authz-grpc' ? 400 : 404
    for (const path of ['/pub/\xc0\xae\xc0\xae\xc0\xaf/api/denied', '/pub/\xe9', '/pub/x?a=\xe9'])
      t.equal(await get(path), denied)
    t.equal(upstream.requests.length, before)
    t.equal(await get('/pub/%21?a=!'), 200)
    t.equal(await get('/pub/!'), protocol === 'ext-authz-grpc' ? 200 : 400)
  })
  t.test(`${name} appends Vary to the header of the upstream`, async (t) => {
    const { decisions, gateway, upstream } = await startDecisionEndpoint(t, protocol)
    const example = { name, command, folder: join(EXAMPLES, 'envoy') }
    const url = await startExample(t, example, {
      decisions,
      gateway: gateway.url,
      upstream: upstream.url,
    })
    upstream.reply(OK_REPLY.replace('\r\n', '\r\nvary: Accept-Encoding\r\n'))
    const request = { token: 'good', headers: { origin: 'https://app.example' } }
    const { headers } = await send(`${url}/api/listed`, request)
    t.same(headers.get('vary')?.split(/, ?/), ['Accept-Encoding', 'Origin'])
  })
  const ingress = { name, protocol, hasHeaderPatterns: true, silentStatus: 503, command }
  testIngress(ingress)
  testBrowserClients({ ...ingress, fence: 'envoy' })
}
