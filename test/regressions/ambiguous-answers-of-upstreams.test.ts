import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const REQUEST = 'GET /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

// RFC 9110 section 8.6: a client that believes the length takes the next answer for the body of this one.
t.test('an answer without content announces no length', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.upstream.reply('HTTP/1.1 204 No Content\r\ncontent-length: 5\r\nx-a: 1\r\n\r\n')
  const answer = await under.raw(REQUEST)
  t.match(answer, /^HTTP\/1\.1 204 .*\r\nx-a: 1\r\n/s)
  t.notMatch(answer, /content-length/i)
})

// The header says how the bytes are to be undone; it was dropped, and the bytes were passed on as they were.
for (const coding of ['gzip', 'gzip, chunked', 'identity', 'chunked, chunked'])
  t.test(`an answer in the transfer coding "${coding}" is not passed off as plain`, async (t) => {
    const under = await startGatewayUnderTest(t)
    under.upstream.reply((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: ${coding}\r\n\r\n4\r\nzzzz\r\n0\r\n\r\n`),
    )
    const answer = await under.raw(REQUEST)
    t.match(answer, /^HTTP\/1\.1 502 .*x-scopegate-error: 1\r\n.*"error":"upstream_unavailable"/s)
    t.notMatch(answer, /zzzz/)
  })

// Some readers take a number that begins with a zero for an octal one: they would see the answer end elsewhere.
t.test('a length with zeros in front is passed on without them', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  upstream.reply('HTTP/1.1 200 OK\r\ncontent-length: 0010\r\n\r\n0123456789')
  const answer = await raw('GET /pub/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
  t.same(answer.match(/^content-length: .*$/gim), ['content-length: 10'])
  t.match(answer, /^HTTP\/1\.1 200 .*\r\n\r\n0123456789$/s)
})
