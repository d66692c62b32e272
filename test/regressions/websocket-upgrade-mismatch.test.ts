import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
defaults: { anonymous: allow }
routes:
  - { name: live, match: { methods: [GET], path: /ws }, websocket: true }
`

// Before the fix, the client got 502 without a log line or a metric that named the reason.
t.test('a 101 that does not match the request is logged and counted as an upstream failure', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: POLICY })
  under.upstream.reply(
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: x\r\n\r\n',
  )
  const answer = await under.raw(
    'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  )
  t.match(answer, /^HTTP\/1\.1 502 .*"error":"upstream_unavailable"/s)
  const id = /x-request-id: (\S+)/i.exec(answer)?.[1]
  const failures = under.log().filter(({ event }) => event === 'upstream_failed')
  t.match(failures, [{ request_id: id, err: { code: 'ERR_UPSTREAM_PROTOCOL' } }])
  const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  t.match(metrics, /^scopegate_upstream_errors_total\{upstream="api",reason="protocol"\} 1$/m)
})
