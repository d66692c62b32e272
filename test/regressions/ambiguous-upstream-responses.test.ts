import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const REQUEST = 'GET /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

// RFC 9110 section 8.6: with a Content-Length, a client would read the next response as the content of the 204
// response.
t.test('a response without content has no Content-Length', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.upstream.reply('HTTP/1.1 204 No Content\r\ncontent-length: 5\r\nx-a: 1\r\n\r\n')
  const answer = await under.raw(REQUEST)
  t.match(answer, /^HTTP\/1\.1 204 .*\r\nx-a: 1\r\n/s)
  t.notMatch(answer, /content-length/i)
})

// `Transfer-Encoding` names the coding of the body. Before the fix, the gateway dropped the header and forwarded the
// coded body.
for (const coding of ['gzip', 'gzip, chunked', 'identity', 'chunked, chunked'])
  t.test(`a response in the transfer coding "${coding}" causes 502`, async (t) => {
    const under = await startGatewayUnderTest(t)
    under.upstream.reply((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: ${coding}\r\n\r\n4\r\nzzzz\r\n0\r\n\r\n`),
    )
    const answer = await under.raw(REQUEST)
    t.match(answer, /^HTTP\/1\.1 502 .*x-scopegate-error: 1\r\n.*"error":"upstream_unavailable"/s)
    t.notMatch(answer, /zzzz/)
  })

// Some parsers read a number with a leading zero as octal. Such a parser would find another end of the response.
t.test('forwards a Content-Length without its leading zeros', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  upstream.reply('HTTP/1.1 200 OK\r\ncontent-length: 0010\r\n\r\n0123456789')
  const answer = await raw('GET /pub/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
  t.same(answer.match(/^content-length: .*$/gim), ['content-length: 10'])
  t.match(answer, /^HTTP\/1\.1 200 .*\r\n\r\n0123456789$/s)
})
