import type { Socket } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const STRAY = 'HTTP/1.1 200 OK\r\nx-nonce: stray\r\ncontent-length: 5\r\n\r\nstray'
const SIZED = `content-length: ${STRAY.length}`
const CHUNKED = 'transfer-encoding: chunked'
const CHUNKS = `${STRAY.length.toString(16)}\r\n${STRAY}\r\n0\r\n\r\n`

/** Response heads that announce content although RFC 9110 does not permit content, and content with this framing. */
const HEADS: readonly (readonly [method: string, statusLine: string, framing: string, content: string])[] = [
  ['GET', 'HTTP/1.1 204 No Content', SIZED, STRAY],
  ['GET', 'HTTP/1.1 204 No Content', CHUNKED, CHUNKS],
  ['GET', 'HTTP/1.1 204 No Content', CHUNKED, STRAY],
  ['GET', 'HTTP/1.1 304 Not Modified', SIZED, STRAY],
  ['GET', 'HTTP/1.1 304 Not Modified', CHUNKED, CHUNKS],
  ['GET', 'HTTP/1.1 304 Not Modified', CHUNKED, STRAY],
  ['HEAD', 'HTTP/1.1 200 OK', SIZED, STRAY],
  ['HEAD', 'HTTP/1.1 200 OK', CHUNKED, STRAY],
]

for (const [method, statusLine, framing, content] of HEADS)
  t.test(
    `${method} with "${statusLine}" and "${framing}" does not replace the next response, when the content is ${content === STRAY ? 'a response' : 'chunks'}`,
    async (t) => {
      const { gateway, upstream } = await startGatewayUnderTest(t)
      const used = new WeakSet<Socket>()
      upstream.reply((socket, { target }) => {
        if (target.endsWith('/first')) socket.write(`${statusLine}\r\n${framing}\r\n\r\n`)
        else {
          // The gateway reuses the connection. Late content arrives after the gateway has written the next request.
          if (used.has(socket)) socket.write(content)
          socket.write('HTTP/1.1 200 OK\r\nx-nonce: own\r\ncontent-length: 3\r\n\r\nown')
        }
        used.add(socket)
      })
      for (let round = 0; round < 3; round++) {
        const first = await fetch(`${gateway.url}/pub/first`, { method })
        t.equal(first.status, Number(statusLine.split(' ')[1]))
        t.equal(await first.text(), '')
        const next = await fetch(`${gateway.url}/pub/next`)
        t.equal(next.status, 200)
        t.equal(next.headers.get('x-nonce'), 'own')
        t.equal(await next.text(), 'own')
      }
    },
  )

for (const framing of [SIZED, CHUNKED])
  t.test(`an interim response with "${framing}" causes 502`, async (t) => {
    const { gateway, upstream } = await startGatewayUnderTest(t)
    upstream.reply((socket) =>
      socket.write(
        `HTTP/1.1 103 Early Hints\r\n${framing}\r\n\r\n${STRAY}HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nown`,
      ),
    )
    const response = await fetch(`${gateway.url}/pub/x`)
    t.equal(response.status, 502)
    t.equal(response.headers.get('x-scopegate-error'), '1')
    t.match(await response.json(), { error: 'upstream_unavailable' })
  })

t.test('a 204 without framing and an interim response of length 0 keep the connection open', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t)
  upstream.reply('HTTP/1.1 103 Early Hints\r\ncontent-length: 0\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n')
  for (let round = 0; round < 3; round++) {
    const response = await fetch(`${gateway.url}/pub/x`)
    t.equal(response.status, 204)
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.equal(upstream.connections, 1)
})
