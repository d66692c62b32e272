import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
defaults: { anonymous: allow, timeout: 20s }
routes:
  - { name: open, match: { methods: [GET], path: "/pub/**" } }
  - { name: live, match: { methods: [GET], path: /live }, websocket: true }
`

/** Only the gateway sets these names. Some servers and proxies treat the spellings as one name. */
const RESERVED = [
  'X-Auth-Subject',
  'x-auth-client-id',
  'X-AUTH-Scope',
  'X-Auth-Anything',
  'X_Auth_Subject',
  'x-auth_subject',
  'X.Auth.Subject',
  'x!auth!subject',
  'X-Scopegate-Error',
  'X-Scopegate-Policy',
  'x-scopegate-decision',
  'X_Scopegate_Error',
  'x-scopegate_policy',
  'X-Request-Id',
  'X_Request_Id',
]
const LINES = RESERVED.map((name) => `${name}: forged\r\n`).join('')
const KEPT = 'x-author: kept\r\nx-authenticate: kept\r\nx_plan: kept\r\n'
const CLOSE = 'Host: api.test\r\nConnection: close\r\n\r\n'

t.test('a final response drops X-Auth-*, X-Scopegate-* and X-Request-Id of the upstream', async (t) => {
  const { raw, upstream, authorizationServer } = await startGatewayUnderTest(t, { policy: POLICY })
  for (const [target, from] of [
    ['/pub/x', upstream],
    ['/api/oauth/userinfo', authorizationServer],
  ] as const)
    for (const status of ['200 OK', '404 Not Found']) {
      from.reply(`HTTP/1.1 ${status}\r\n${LINES}${KEPT}content-length: 2\r\n\r\nok`)
      const response = await raw(`GET ${target} HTTP/1.1\r\n${CLOSE}`)
      t.match(response, new RegExp(`^HTTP/1\\.1 ${status}\r\n`))
      t.notMatch(response, /forged/i, target)
      for (const line of KEPT.trim().split('\r\n')) t.match(response, line)
      t.match(response, /\r\nx-request-id: [0-9a-f-]{36}\r\n/)
    }
})

t.test('interim responses and trailers drop header names of the gateway', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
  upstream.reply(
    `HTTP/1.1 103 Early Hints\r\n${LINES}link: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${LINES}\r\n`,
  )
  const response = await raw(`GET /pub/x HTTP/1.1\r\n${CLOSE}`)
  t.match(response, /^HTTP\/1\.1 103 .*HTTP\/1\.1 200 .*2\r\nok\r\n0\r\n\r\n$/s)
  t.notMatch(response, /forged/i)
})

t.test('a WebSocket handshake response drops header names of the gateway', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
  upstream.reply(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n${LINES}${KEPT}\r\n`,
  )
  const client = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  t.teardown(() => client.destroy())
  let response = ''
  client.on('data', (chunk) => (response += chunk.toString('latin1')))
  await once(client, 'connect')
  client.write(
    'GET /live HTTP/1.1\r\nhost: api.test\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await until('the response head', async () => response.includes('\r\n\r\n'))
  t.match(response, /^HTTP\/1\.1 101 .*\r\nx-author: kept\r\n/s)
  t.notMatch(response, /forged/i)
})
