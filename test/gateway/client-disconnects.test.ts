import { connect } from 'node:net'
import t from 'tap'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge, timeout: 20s }
routes:
  - { name: all, match: { methods: [GET], path: "/pub/**" }, websocket: true }
`
const HANDSHAKE =
  'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

for (const [what, more] of [
  ['a request', ''],
  ['a WebSocket handshake', HANDSHAKE],
] as const)
  t.test(`${what} is not forwarded when its client leaves during token validation`, async (t) => {
    const under = await startGatewayUnderTest(t, { policy: POLICY })
    const answers: (() => void)[] = []
    under.issuer.answerWith((response) =>
      answers.push(() => {
        const exp = Math.floor(Date.now() / 1_000) + 900
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(
          JSON.stringify({ active: true, iss: BASE_URL, aud: BASE_URL, sub: 'a', client_id: 'b', exp }),
        )
      }),
    )
    const leaves = connect(Number(new URL(under.gateway.url).port), '127.0.0.1')
    leaves.write(`GET /pub/leaves HTTP/1.1\r\nhost: a\r\nauthorization: Bearer token-1\r\n${more}\r\n`)
    const answer = await until('the introspection', async () => answers[0])
    // Both requests share one introspection. After the response to the second request, the gateway has also decided on
    // the first request.
    const stays = send(`${under.gateway.url}/pub/stays`, { token: 'token-1' })
    await until('both requests', async () => {
      const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
      return /^scopegate_http_requests_in_flight 2$/m.test(metrics)
    })
    leaves.destroy()
    await until('the client is gone', async () =>
      under.log().some((line) => line['http.response.status_code'] === 499),
    )
    answer()
    t.equal((await stays).status, 200)
    t.equal((await send(`${under.gateway.url}/pub/later`, { token: 'token-1' })).status, 200)
    t.equal(answers.length, 1)
    t.same(
      under.upstream.requests.map(({ target }) => target),
      ['/pub/stays', '/pub/later'],
    )
  })
