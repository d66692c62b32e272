import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { anUpstream, pushing, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: live
upstream: live
defaults: { anonymous: deny, timeout: 10s }
routes:
  - { name: live, match: { methods: [GET], path: /live }, websocket: true, scopes: { all: [courses:read] } }
  - { name: plain, match: { methods: [GET], path: /plain }, scopes: { all: [courses:read] } }
`

/** The upstream accepts a WebSocket when the test permits it. */
async function start(t: Test) {
  const live = await startWebsocketUpstream()
  t.teardown(() => live.close())
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: [...config.upstreams, anUpstream('live', live.url)],
      issuers: config.issuers.map(pushing),
    }),
  })
  const waiting: (() => void)[] = []
  live.onHandshake((socket, request) => waiting.push(() => agree(socket, request)))
  return { under, waiting }
}

function agree(socket: Duplex, request: IncomingMessage): void {
  const key = request.headers['sec-websocket-key'] ?? ''
  const accept = hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  )
}

async function statusOf(url: string, token: string): Promise<number> {
  const response = await fetch(`${url}/plain`, { headers: { authorization: `Bearer ${token}` } })
  await response.arrayBuffer()
  return response.status
}

t.test('closes a session whose token is revoked before the upstream accepts the WebSocket', async (t) => {
  const { under, waiting } = await start(t)
  await under.issuer.subscribed()
  under.issuer.store('one', { scope: 'courses:read' })
  const opening = openWebsocket(`${under.gateway.url}/live`, 'one')
  await until('asked', async () => waiting.length === 1)
  under.issuer.revoke('one')
  await until('rejected', async () => (await statusOf(under.gateway.url, 'one')) === 401)
  waiting[0]?.()
  const client = await opening
  t.match(await client.closed, { code: 1008 })
})
