import { connect } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'

const REQUEST = `GET /pub/x HTTP/1.1\r\nHost: api.test\r\nX-Long: ${'x'.repeat(950)}\r\n\r\n`
const PIECE = Buffer.from(REQUEST.repeat(64))
/** More bytes than the buffers of both sockets. */
const ALL_BYTES = 48 * 1024 * 1024

// Before the fix, the gateway paused reading at request 101, but Node resumed reading at the end of each request. One
// connection with one slow response could use unlimited memory.
t.test('stops reading an endless series of pipelined requests while the first has no response', async (t) => {
  const under = await startGatewayUnderTest(t)
  let release: () => void = () => undefined
  under.upstream.reply((socket) => {
    under.upstream.reply(OK_REPLY)
    release = () => socket.write(OK_REPLY)
  })
  const client = connect(Number(new URL(under.gateway.url).port), '127.0.0.1')
  t.teardown(() => client.destroy())
  client.on('error', () => undefined)
  let closed = false
  client.once('close', () => {
    closed = true
  })
  let answers = ''
  client.on('data', (chunk) => (answers += chunk.toString()))
  client.write(REQUEST)
  await until('the first request', async () => under.upstream.requests.length > 0)

  let sentBytes = 0
  const sendMore = (): void => {
    let takesMore = true
    while (takesMore && sentBytes < ALL_BYTES) {
      sentBytes += PIECE.length
      takesMore = client.write(PIECE)
    }
  }
  client.on('drain', sendMore)
  sendMore()
  // Requests on other connections show that the gateway had time to read more.
  for (let before = -1; before !== sentBytes && sentBytes < ALL_BYTES; ) {
    before = sentBytes
    for (let i = 0; i < 20; i++)
      await under.raw('GET /pub/other HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
  }
  t.ok(sentBytes < ALL_BYTES, `${sentBytes} bytes were taken`)

  release()
  await until('the end of the connection', async () => closed)
  t.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 101)
})
