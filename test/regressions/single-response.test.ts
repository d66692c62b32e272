import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'

// Before the fix, the gateway sent a second response for a rejected request if the rest of the body never arrived. A
// proxy that shares a connection between clients interprets this response as the response to the next request.
for (const [what, head] of [
  ['rejected', 'POST /api/challenged HTTP/1.1\r\nHost: api.test\r\nContent-Length: 1000\r\n\r\n'],
  ['sent to an unknown path', 'POST /nothing HTTP/1.1\r\nHost: api.test\r\nContent-Length: 1000\r\n\r\n'],
] as const)
  t.test(`a request that was ${what} gets one response when its body ends early`, async (t) => {
    const { gateway, upstream } = await startGatewayUnderTest(t)
    const { statuses, text } = await sendBytes(gateway.url, `${head}0123456789`, { hangsUp: true })
    t.equal(statuses.length, 1)
    t.match(text, /^HTTP\/1\.1 40[14] /)
    t.equal(upstream.bytes, '')
  })
