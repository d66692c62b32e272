import { connect } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

// HTTP/1.0 has no chunks: the end of the connection is the end of the body. A connection that ended in good order made half
// a body a whole one.
t.test('an upstream that dies in the middle resets the connection of an HTTP/1.0 client', async (t) => {
  const under = await startGatewayUnderTest(t)
  let die: () => void = () => undefined
  under.upstream.reply((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n')
    die = () => socket.destroy()
  })
  const { port } = new URL(under.gateway.url)
  const client = connect(Number(port), '127.0.0.1')
  const outcome = new Promise((resolve) => {
    client.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    client.on('end', () => resolve('a clean end'))
  })
  let received = ''
  client.on('data', (chunk) => {
    received += chunk.toString()
    if (received.endsWith('half')) die()
  })
  client.write('GET /pub/x HTTP/1.0\r\n\r\n')
  t.equal(await outcome, 'ECONNRESET')
  t.match(received, /^HTTP\/1\.1 200 /)
  t.notMatch(received, /transfer-encoding/i)
})
