import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const lines = (count: number): string => `Host: api.test\r\nConnection: close\r\n${'a:b\r\n'.repeat(count)}`

// Some versions of Node.js process only 1,000 header lines. They silently drop all later lines, which can include the
// token.
t.test('rejects a request with more header lines than Node.js processes', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  for (const [target, last] of [
    ['GET /api/courses', 'Authorization: Bearer nobody\r\n\r\n'],
    ['POST /pub/x', 'Content-Length: 5\r\n\r\nhello'],
  ] as const) {
    const answer = await raw(`${target} HTTP/1.1\r\n${lines(1_500)}${last}`)
    t.match(answer, /^HTTP\/1\.1 431 /, target)
    t.match(answer, /"error":"invalid_request"/)
  }
  t.equal(upstream.bytes, '')
})

t.test('reads a header after 900 other header lines', async (t) => {
  const { raw, upstream, issuer } = await startGatewayUnderTest(t)
  issuer.store('good', { scope: 'courses:read' })
  const bad = await raw(`GET /api/courses HTTP/1.1\r\n${lines(900)}Authorization: Bearer nobody\r\n\r\n`)
  t.match(bad, /^HTTP\/1\.1 401 [\s\S]*www-authenticate: Bearer error="invalid_token"/)
  const two = await raw(
    `GET /api/courses HTTP/1.1\r\nAuthorization: Bearer good\r\n${lines(900)}Authorization: Bearer nobody\r\n\r\n`,
  )
  t.match(two, /^HTTP\/1\.1 400 /)
  t.equal(upstream.bytes, '')
  t.match(
    await raw(`POST /pub/x HTTP/1.1\r\n${lines(900)}Content-Length: 5\r\n\r\nhello`),
    /^HTTP\/1\.1 200 /,
  )
  t.match(upstream.bytes, /\r\n\r\nhello$/)
  t.equal(upstream.seen('a').length, 900)
})
