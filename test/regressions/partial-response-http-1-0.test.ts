import { connect } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { failDuringResponse } from '../fixtures/partial-response.ts'

// HTTP/1.0 has no chunks, so the end of the connection ends the body. Before the fix, the gateway sent a FIN, and a
// truncated body looked complete.
t.test('an upstream failure during a response resets the connection of an HTTP/1.0 client', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { port } = new URL(under.gateway.url)
  const { outcome, received } = await failDuringResponse(under, connect(Number(port), '127.0.0.1'))
  t.equal(outcome, 'ECONNRESET')
  t.match(received, /^HTTP\/1\.1 200 /)
  t.notMatch(received, /transfer-encoding/i)
})
