import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

// An HTTP client can store unparsable bytes in its error. Before the fix, the log contained every property of an error.
t.test('the log contains no bytes of an upstream response that cannot be parsed', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.upstream.reply((socket) =>
    socket.end('HTTP/1.1 200 OK\r\nset-cookie: session=of-somebody\r\nx: \x01\r\n\r\nprivate'),
  )
  const answer = await under.raw('GET /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  t.match(answer, /^HTTP\/1\.1 502 .*"error":"upstream_unavailable"/s)
  await until('the reason', async () => under.log().some((line) => line['event'] === 'upstream_failed'))
  const { err } = under.log().find((line) => line['event'] === 'upstream_failed') ?? {}
  t.match(err, {
    type: 'UpstreamError',
    message: /^the response is malformed/,
    code: 'ERR_UPSTREAM_PROTOCOL',
  })
  t.notMatch(under.logText(), /of-somebody|private/)
})
