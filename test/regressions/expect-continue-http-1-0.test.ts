import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

// RFC 9110 section 10.1.1: an HTTP/1.0 client does not know interim responses, and interprets `100` as the final
// response.
t.test('sends 100 Continue only to HTTP/1.1 clients that expect it', async (t) => {
  const under = await startGatewayUnderTest(t)
  const answers = [
    await under.raw('POST /pub/x HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok'),
    await under.raw(
      'POST /pub/x HTTP/1.1\r\nHost: a\r\nExpect: something\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok',
    ),
  ]
  for (const answer of answers) t.same(answer.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200'])
  t.same(
    under.upstream.requests.map(({ body }) => body),
    ['ok', 'ok'],
  )
  t.same(under.upstream.seen('expect'), [])
})
