import type { Socket } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'

const HOST = 'Host: api.test\r\n'
const codes = (answer: string) => answer.match(/HTTP\/1\.1 \d+/g)

// RFC 9112 section 9.3.2: only safe requests may run concurrently. Before the fix, the second write could reach the
// upstream first.
t.test('a pipelined request waits for the response to the request before it', async (t) => {
  const under = await startGatewayUnderTest(t)
  const waiting: Socket[] = []
  under.upstream.reply((socket) => void waiting.push(socket))
  const answer = under.raw(
    `PUT /pub/1 HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\na` +
      `PUT /pub/2 HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\nb` +
      `DELETE /pub/3 HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
  )
  for (const count of [1, 2, 3]) {
    await until('the next request', async () => waiting.length === count)
    // A request on another connection shows that the gateway had time to forward more requests.
    under.upstream.reply(OK_REPLY)
    await under.raw(`GET /pub/other HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
    under.upstream.reply((socket) => void waiting.push(socket))
    t.equal(waiting.length, count)
    waiting.at(-1)?.write(OK_REPLY)
  }
  t.same(codes(await answer), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200'])
  t.same(
    under.upstream.requests.map(({ target }) => target).filter((target) => target !== '/pub/other'),
    ['/pub/1', '/pub/2', '/pub/3'],
  )
})

t.test('pipelined requests are not forwarded after their client disconnects', async (t) => {
  const under = await startGatewayUnderTest(t)
  let ended = false
  under.upstream.reply((socket) => {
    socket.on('close', () => {
      ended = true
    })
  })
  const { connect } = await import('node:net')
  const client = connect(Number(new URL(under.gateway.url).port), '127.0.0.1')
  client.write(`GET /pub/x HTTP/1.1\r\n${HOST}\r\n`.repeat(50))
  await until('the first request', async () => under.upstream.requests.length > 0)
  client.destroy()
  await until('the end at the upstream', async () => ended)
  const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  t.match(metrics, /^scopegate_http_requests_in_flight 0$/m)
  t.equal(under.upstream.requests.length, 1)
})

t.test('a connection with too many pipelined requests closes after the accepted ones', async (t) => {
  const under = await startGatewayUnderTest(t)
  let release: () => void = () => undefined
  under.upstream.reply((socket) => {
    under.upstream.reply(OK_REPLY)
    release = () => socket.write(OK_REPLY)
  })
  const answer = under.raw(`GET /pub/x HTTP/1.1\r\n${HOST}\r\n`.repeat(5_000))
  await until('the first request', async () => under.upstream.requests.length > 0)
  release()
  const count = codes(await answer)?.length ?? 0
  t.ok(count > 1 && count < 2_000, `${count} were answered`)
  t.equal(under.upstream.requests.length, count)
})

// Before the fix, the client got an error for an invalid request, although the upstream had processed the valid
// request.
t.test('invalid bytes after a valid request do not replace its response', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.upstream.reply((socket) => setImmediate(() => socket.write(OK_REPLY)))
  for (const junk of ['this is not HTTP\r\n\r\n', `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`]) {
    const answer = await under.raw(`GET /pub/x HTTP/1.1\r\n${HOST}\r\n${junk}`)
    t.same(codes(answer), ['HTTP/1.1 200'])
  }
  t.equal(under.upstream.requests.length, 2)
})
