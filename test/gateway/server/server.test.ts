import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import type { UnparsedRequest } from '../../../gateway/observability/unparsed-request.ts'
import { createServer } from '../../../gateway/server/server.ts'

t.test('a client that sends its head too slowly gets 408, and times out after ten seconds', async (t) => {
  const unparsed: UnparsedRequest[] = []
  const app = createServer({
    headersLimitBytes: 16_384,
    handle: () => t.fail('the request is not complete'),
    hasWebsockets: () => false,
    newRequestId: () => 'request-1',
    connectionsLimit: 10,
    onConnectionRejected: () => undefined,
    onUnparsed: (one) => void unparsed.push(one),
    tls: undefined,
    onAcceptError: () => undefined,
  })
  t.teardown(() => app.close())
  await app.ready()
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { server } = app
  t.same([server.headersTimeout, server.requestTimeout, server.keepAliveTimeout], [10_000, 60_000, 72_000])

  server.headersTimeout = 1
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  let response = ''
  client.on('data', (chunk) => (response += chunk.toString()))
  client.write('GET /pub/x HTTP/1.1\r\n')
  await once(client, 'close')
  t.match(response, /^HTTP\/1\.1 408 .*connection: close\r\n.*did not arrive in time/is)
  t.match(unparsed, [{ requestId: 'request-1', status: 408, rejection: { rejected: 'request_timed_out' } }])
})
