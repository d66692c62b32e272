import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow, timeout: 2s }
routes:
  - { name: open, match: { methods: [GET, POST, PUT], path: "/pub/**" } }
  - { name: live, match: { methods: [GET], path: /live }, websocket: true }
  - { name: challenged, match: { methods: [POST], path: /api/challenged }, anonymous: challenge, scopes: { all: [orders:read] } }
`
const HOST = 'Host: api.test\r\n'
const CHUNKED = `GET /pub/second HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n`

// A client sends `Expect: 100-continue` and gets a final response. The gateway then closes the connection, because it
// does not know whether the body follows. Node.js still parses the received bytes, and closes the connection during the
// second request. Before the fix, the gateway then forwarded the third request, although the client could not receive
// the response.
for (const [what, first, status] of [
  ['a preflight', `OPTIONS /pub/a HTTP/1.1\r\n${HOST}Expect: 100-continue\r\n\r\n`, 204],
  [
    'a rejection',
    `POST /api/challenged HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 0\r\n\r\n`,
    401,
  ],
  [
    'a response to a request with Connection: close',
    `GET /nothing HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
    404,
  ],
  ['a response to HTTP/1.0', `GET /nothing HTTP/1.0\r\n${HOST}\r\n`, 404],
] as const)
  for (const third of [
    `POST /pub/third HTTP/1.0\r\n${HOST}Connection: keep-alive\r\nContent-Length: 7\r\n\r\n1234567`,
    `PUT /pub/third HTTP/1.1\r\n${HOST}Content-Length: 7\r\n\r\n1234567`,
    `GET /pub/third HTTP/1.1\r\n${HOST}\r\n`,
    `GET /live HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  ])
    t.test(`nothing is forwarded after ${what}: ${third.slice(0, 24).trim()}`, async (t) => {
      const under = await startGatewayUnderTest(t, { policy: POLICY })
      const answer = await under.raw(first + CHUNKED + third)
      t.same(answer.match(/^HTTP\/1\.1 \d+/gm), [`HTTP/1.1 ${status}`])
      t.match(answer, /\r\nconnection: close\r\n/i)
      t.match(
        await under.raw(`GET /pub/after HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`),
        /^HTTP\/1\.1 200 /,
      )
      t.same(
        under.upstream.requests.map(({ target }) => target),
        ['/pub/after'],
      )
      await under.gateway.close()
      t.notMatch(under.logText(), /pub\/(?:second|third)|\/live"/, 'the other requests never start')
    })
