import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

/** A parser that requires CRLF CRLF finds no end in these response heads. The upstream keeps the connection open. */
const HEADS: Readonly<Record<string, string>> = {
  'bare line feeds': 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok',
  'a bare line feed after the status line': 'HTTP/1.1 200 OK\ncontent-length: 2\r\n',
  'a bare line feed after a header': 'HTTP/1.1 200 OK\r\ncontent-length: 2\n\nok',
  'a bare line feed at the end': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\n',
  'bare carriage returns': 'HTTP/1.1 200 OK\rcontent-length: 2\r\rok',
  'a control character': 'HTTP/1.1 200 OK\r\nx: \0',
  'an interim response before it': 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\n\n',
}

for (const [what, head] of Object.entries(HEADS))
  for (const cut of [1, head.length])
    t.test(`a response head with ${what} causes 502 immediately, in pieces of ${cut} bytes`, async (t) => {
      const { raw, upstream, log } = await startGatewayUnderTest(t)
      upstream.reply(async (socket) => {
        for (let at = 0; at < head.length; at += cut) {
          socket.write(head.slice(at, at + cut), 'latin1')
          await new Promise((resolve) => setImmediate(resolve))
        }
      })
      const response = await raw('GET /pub/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
      t.match(response, /^HTTP\/1\.1 502 .*x-scopegate-error: 1\r\n.*"error":"upstream_unavailable"/s)
      const line = await until('the access line', async () => log().find((one) => one['event'] === 'access'))
      t.equal(line['error.type'], 'upstream_protocol')
    })

t.test('reads a response head in pieces of one byte', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  const head = 'HTTP/1.1 200 OK\r\nx-a: \tb\xe4\r\ncontent-length: 2\r\n\r\nok'
  upstream.reply(async (socket) => {
    for (const byte of head) {
      socket.write(byte, 'latin1')
      await new Promise((resolve) => setImmediate(resolve))
    }
  })
  t.match(
    await raw('GET /pub/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 .*\r\nx-a: b\xe4\r\n.*\r\n\r\nok$/s,
  )
})
