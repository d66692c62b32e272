import { connect } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

// Before the fix, the gateway sent a FIN after invalid bytes, and waited forever for the FIN of the client.
for (const [what, bytes] of [
  ['bytes that are not HTTP', 'this is not HTTP\r\n\r\n'],
  ['a CONNECT request', 'CONNECT api.test:80 HTTP/1.1\r\nHost: api.test:80\r\n\r\n'],
  [
    'broken chunks',
    'POST /pub/x HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n',
  ],
] as const)
  t.test(
    `the gateway closes the connection of a client that sends ${what} and never closes its side`,
    async (t) => {
      const under = await startGatewayUnderTest(t)
      const { port } = new URL(under.gateway.url)
      const client = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
      let received = ''
      let gone = false
      client.on('data', (chunk) => {
        received += chunk.toString()
      })
      client.on('error', () => {
        gone = true
      })
      t.teardown(() => client.destroy())
      client.write(bytes)
      await until('the answer', async () => received !== '')
      // If the gateway has closed the connection completely, the system responds to a byte with a reset.
      await until('the reset', async () => {
        client.write('x')
        return gone
      })
      t.match(received, /^HTTP\/1\.1 400 .*"error":"invalid_request"/s)
      t.equal(received.match(/HTTP\/1\.1 \d/g)?.length, 1, 'the client receives one response with the reason')
      const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
      t.match(metrics, /^scopegate_http_requests_in_flight 0$/m)
    },
  )
