import t from 'tap'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'

// Class 55: a request without a token has no identity. The gateway forwards this request only if a policy permits
// anonymous access. The gateway never treats a request with an invalid credential as anonymous.

const IDENTITY = /^x-auth|^authorization$|^cookie$/i
const FORGED = [
  'X-Auth-Subject: admin',
  'x_auth_subject: admin',
  'X-Auth-Scope: courses:write',
  'X-Auth-Client-Id: admin',
  'X-Auth-Assertion: x.y.z',
  'X-Auth-Issuer: http://api.test',
  'Cookie: access_token=opaque; Authorization=Bearer%20opaque',
]

const CREDENTIALS = [
  'Authorization: ',
  'Authorization: Bearer',
  'Authorization: Bearer  ',
  'Authorization: Bearer unknown',
  'Authorization: bearer UNKNOWN',
  'Authorization: Bearer revoked',
  'Authorization: Bearer expired',
  'Authorization: Bearer for-another',
  'Authorization: Bearer a,b',
  'Authorization: Bearer "unknown"',
  'Authorization: Basic YWRtaW46YWRtaW4=',
  'Authorization: Basic',
  'Authorization: Negotiate x',
  'Authorization: null',
  'Authorization: undefined',
  'Authorization: Bearer null',
  'Authorization: Bearer eyJhbGciOiJub25lIn0.e30.',
  'authorization:Bearer unknown',
]

const get = (path: string, lines: readonly string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'Host: api.test', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`

t.test(
  'class 55: forwards an anonymous request without an identity, even when it sends identity headers',
  async (t) => {
    const { raw, upstream, issuer } = await startGatewayUnderTest(t)
    for (const path of ['/api/courses', '/pub/x', '/api/trusted', '/api/asserted']) {
      const before = upstream.requests.length
      t.match(await raw(get(path, FORGED)), /^HTTP\/1\.1 200 /, path)
      t.equal(upstream.requests.length, before + 1)
      const told = upstream.requests
        .at(-1)
        ?.headers.map(([name]) => name.toLowerCase())
        .filter((name) => IDENTITY.test(name))
      // The policy of this route forwards headers unchanged, and the upstream validates them.
      t.same(told, path === '/api/trusted' ? ['cookie'] : [], path)
    }
    t.equal(issuer.asked.length, 0, 'the gateway does not introspect a token in a cookie')
  },
)

t.test('class 55: rejects an anonymous request on a route that requires a token', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  const challenged = await raw(get('/api/challenged', FORGED))
  t.match(challenged, /^HTTP\/1\.1 401 /)
  t.match(challenged, /^www-authenticate: Bearer scope="orders:read", resource_metadata="[^"]+"\r$/im)
  const denied = await raw(get('/api/denied', FORGED))
  t.match(denied, /^HTTP\/1\.1 401 /)
  t.match(denied, /^www-authenticate: Bearer\r$/im)
  t.equal(upstream.requests.length, 0)
})

t.test('class 55: rejects a bad credential on a route that serves anonymous requests', async (t) => {
  const { raw, upstream, issuer } = await startGatewayUnderTest(t)
  issuer.store('revoked')
  issuer.revoke('revoked', { push: false })
  issuer.store('expired', { exp: 1 })
  issuer.store('for-another', { aud: 'https://other.test' })
  for (const path of ['/api/courses', '/pub/x'])
    for (const credential of CREDENTIALS) {
      const answer = await raw(get(path, [credential]))
      t.match(answer, /^HTTP\/1\.1 401 /, `${credential} at ${path}`)
      t.match(answer, /^www-authenticate: Bearer error="invalid_token", /im)
      t.match(answer, `${BASE_URL}/.well-known/oauth-protected-resource`)
    }
  for (const two of [
    ['Authorization: Bearer a', 'Authorization: Bearer b'],
    ['Authorization: ', 'Authorization: '],
  ])
    t.match(await raw(get('/pub/x', two)), /^HTTP\/1\.1 400 /)
  t.equal(upstream.requests.length, 0)
})

t.test('class 51: accepts a token only in the Authorization header', async (t) => {
  const { raw, upstream, issuer } = await startGatewayUnderTest(t)
  const token = issuer.store('good', { scope: 'orders:read' })
  for (const [path, ...lines] of [
    ['/api/challenged', `Cookie: access_token=${token}`],
    ['/api/challenged', `X-Authorization: Bearer ${token}`],
    ['/api/challenged', `Proxy-Authorization: Bearer ${token}`],
    ['/api/challenged', `X-Access-Token: ${token}`],
    ['/api/challenged', `Authorization_: Bearer ${token}`],
    [`/api/challenged?token=${token}`],
    [`/api/challenged?bearer=${token}`],
  ] as const) {
    const answer = await raw(get(path, lines))
    t.match(answer, /^HTTP\/1\.1 401 /, path + lines)
    t.match(answer, /"error":"unauthorized"/, 'the request counts as one without a token')
  }
  const form = `access_token=${token}`
  t.match(
    await raw(
      `POST /api/challenged HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n${form}`,
    ),
    /^HTTP\/1\.1 401 /,
  )
  t.match(await raw(get(`/api/challenged?access_token=${token}`, [])), /^HTTP\/1\.1 400 /)
  t.equal(issuer.asked.length, 0)
  t.equal(upstream.requests.length, 0)
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
    t.match(await raw(get('/api/challenged', [`Authorization: ${scheme} ${token}`])), /^HTTP\/1\.1 200 /)
})
