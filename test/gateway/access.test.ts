import t, { type Test } from 'tap'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

const METADATA = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource"`

async function call(under: GatewayUnderTest, path: string, init: RequestInit & { token?: string } = {}) {
  const { token, ...rest } = init
  const headers = new Headers(rest.headers)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(`${under.gateway.url}${path}`, { ...rest, headers })
  const text = await response.text()
  const body: Record<string, unknown> = text.startsWith('{') ? JSON.parse(text) : {}
  return {
    status: response.status,
    headers: response.headers,
    challenge: response.headers.get('www-authenticate'),
    body,
  }
}

t.test('an invalid token gets 401 invalid_token on every route', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { issuer, upstream } = under
  issuer.store('other resource', {})
  issuer.store('wrong-audience', { aud: 'https://other.test' })
  issuer.store('no-audience', { aud: undefined })
  issuer.store('wrong-issuer', { iss: 'https://other.test' })
  issuer.store('no-expiry', { exp: undefined })
  issuer.store('expired', { exp: Math.floor(Date.now() / 1_000) - 180 })
  issuer.store('bound', { cnf: { jkt: 'thumbprint' } })
  const tokens = [
    'unknown',
    'wrong-audience',
    'no-audience',
    'wrong-issuer',
    'no-expiry',
    'expired',
    'bound',
    'a"b',
    '',
  ]
  for (const token of tokens)
    for (const path of ['/pub/x', '/api/courses', '/api/challenged', '/api/denied']) {
      const { status, challenge, body } = await call(under, path, { token })
      t.equal(status, 401, `${token} at ${path}`)
      t.equal(body['error'], 'invalid_token')
      t.match(challenge, /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="/)
      t.ok(challenge?.endsWith(METADATA))
      t.ok(challenge?.includes(`error_description="${body['error_description']}"`))
      t.match(body['request_id'], /^[0-9a-f-]{36}$/)
    }
  t.match((await call(under, '/pub/x', { token: 'expired' })).body, {
    error_description: `The access token expired 3 minutes ago. Get a new token at ${BASE_URL}/api/oauth/token.`,
  })
  t.equal(upstream.bytes, '', 'nothing was forwarded')
})

t.test('RFC 6750 §3.1: two credentials, and tokens in the query, are invalid requests', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.issuer.store('good', { scope: 'courses:read' })
  const query = await call(under, '/api/courses?access_token=good')
  t.equal(query.status, 400)
  t.match(query.challenge, /^Bearer error="invalid_request", /)
  t.equal(query.body['error'], 'invalid_request')
  const two = await under.raw(
    'GET /api/courses HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer good\r\nAuthorization: Bearer bad\r\n\r\n',
  )
  t.match(two, /^HTTP\/1\.1 400 .*www-authenticate: Bearer error="invalid_request"/is)
  const server = await under.raw(
    'POST /api/oauth/token HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic a\r\nAuthorization: Basic b\r\nContent-Length: 0\r\n\r\n',
  )
  t.match(server, /^HTTP\/1\.1 400 /)
  t.equal(under.upstream.bytes + under.authorizationServer.bytes, '')
})

t.test(
  'a token without the required scope gets 403 insufficient_scope with the required scopes',
  async (t) => {
    const under = await startGatewayUnderTest(t)
    under.issuer.store('reader', { scope: 'courses:read' })
    under.issuer.store('none', { scope: '' })
    under.issuer.store('almost', { scope: 'courses:writer Courses:write courses' })
    const cases = [
      ['reader', 'POST', '/api/courses', 'courses:write'],
      ['reader', 'DELETE', '/api/courses/1', 'courses:write'],
      ['none', 'GET', '/api/courses', 'courses:read'],
      ['none', 'HEAD', '/api/courses', 'courses:read'],
      ['almost', 'PATCH', '/api/courses/1', 'courses:write'],
      ['none', 'GET', '/api/challenged', 'orders:read'],
      ['reader', 'GET', '/api/either', 'courses:read posts:read'],
    ] as const
    for (const [token, method, path, scope] of cases) {
      const { status, challenge, body } = await call(under, path, { token, method })
      t.equal(status, 403, `${method} ${path}`)
      t.match(challenge, /^Bearer error="insufficient_scope", error_description="[^"]+", scope="/)
      t.ok(challenge?.includes(` scope="${scope}", ${METADATA}`), challenge ?? '')
      if (method !== 'HEAD') t.match(body, { error: 'insufficient_scope', error_description: /^.+$/, scope })
    }
    t.equal(under.upstream.bytes, '')
  },
)

t.test('a request without a token gets 401 unless the route allows anonymous callers', async (t) => {
  const under = await startGatewayUnderTest(t)
  const allowed = await call(under, '/api/courses')
  t.equal(allowed.status, 200)
  t.equal(allowed.challenge, null)
  const challenged = await call(under, '/api/challenged')
  t.equal(challenged.status, 401)
  t.equal(challenged.challenge, `Bearer scope="orders:read", ${METADATA}`)
  t.match(challenged.body, { error: 'unauthorized', error_description: /^.+$/ })
  const denied = await call(under, '/api/denied')
  t.equal(denied.status, 401)
  t.equal(denied.challenge, 'Bearer')
  t.equal(denied.body['error'], 'unauthorized')
  t.equal(under.upstream.requests.length, 1)
})

t.test(
  'a valid token gives access to the routes of its scopes, after introspection and from the cache',
  async (t) => {
    const under = await startGatewayUnderTest(t)
    under.issuer.store('good', { scope: 'courses:read pages:read' })
    for (const [path, method] of [
      ['/api/courses', 'GET'],
      ['/api/courses/7', 'HEAD'],
      ['/api/either', 'GET'],
      ['/pub/x', 'GET'],
    ] as const)
      t.equal((await call(under, path, { token: 'good', method })).status, 200, path)
    t.equal(under.issuer.asked.length, 1)
    const [asked] = under.issuer.asked
    t.equal(asked?.get('token'), 'good')
    t.equal(asked?.get('client_secret'), under.issuer.clientSecret)
    // The gateway gets the status from the cache, but checks the scopes of this route again.
    t.equal((await call(under, '/api/challenged', { token: 'good' })).status, 403)
  },
)

function startWithDeadline(t: Test, timeoutMs: number): Promise<GatewayUnderTest> {
  return startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map((issuer) => ({
        ...issuer,
        introspection: issuer.introspection && { ...issuer.introspection, timeoutMs },
      })),
    }),
  })
}

type IssuersAnswer = Parameters<GatewayUnderTest['issuer']['answerWith']>[0]

async function checkUnanswered(t: Test, under: GatewayUnderTest, what: string, answer: IssuersAnswer) {
  under.issuer.answerWith(answer)
  const { status, headers, challenge, body } = await call(under, '/pub/x', { token: 'good' })
  t.equal(status, 503, what)
  t.match(headers.get('retry-after'), /^\d+$/)
  t.equal(challenge, null)
  t.match(body, { error: 'upstream_unavailable', retry_after: Number })
}

t.test('without a usable response of the issuer, every caller gets 503 and no token gets 401', async (t) => {
  const under = await startWithDeadline(t, 20_000)
  under.issuer.store('good', { scope: 'courses:read' })
  const json = { 'content-type': 'application/json' }
  const noAnswers = {
    'the text "true"': (response) => response.writeHead(200, json).end('{"active":"true"}'),
    'the number 1': (response) => response.writeHead(200, json).end('{"active":1}'),
    'a page': (response) => response.writeHead(200).end('<html>'),
    nothing: (response) => response.writeHead(200).end(),
    'status 500': (response) => response.writeHead(500, json).end('{"active":true}'),
    'status 201': (response) => response.writeHead(201, json).end('{"active":true}'),
    'status 401': (response) => response.writeHead(401, json).end('{"active":true}'),
    'a redirect': (response) => response.writeHead(302, { location: '/elsewhere' }).end('{"active":true}'),
    'a reset': (response) => response.destroy(),
    'more than 64 KiB': (response) =>
      response.writeHead(200, json).end(`{"active":true,"x":"${'x'.repeat(70_000)}"}`),
  } satisfies Record<string, IssuersAnswer>
  for (const [what, answer] of Object.entries(noAnswers)) {
    await checkUnanswered(t, under, what, answer)
    // A usable response resets the failures of the circuit, so that the circuit stays closed.
    under.issuer.answerWith(undefined)
    t.equal((await call(under, '/pub/x', { token: `unknown after ${what}`.replace(/\W/g, '-') })).status, 401)
  }
  t.equal(under.upstream.bytes, '')
  t.equal((await call(under, '/pub/x', { token: 'good' })).status, 200, 'no failure is cached')

  under.issuer.answerWith((response) => response.destroy())
  for (let i = 0; i < 5; i++) t.equal((await call(under, '/pub/x', { token: `new-${i}` })).status, 503)
  const asked = under.issuer.asked.length
  t.equal((await call(under, '/pub/x', { token: 'new' })).status, 503, 'the circuit of the issuer is open')
  t.equal(under.issuer.asked.length, asked)
  under.issuer.answerWith(undefined)
  under.issuer.store('new')
  await until('the gateway introspects again', async () => {
    const { status, headers } = await call(under, '/pub/x', { token: 'new' })
    if (status === 503) t.match(headers.get('retry-after'), /^[1-5]$/)
    return status === 200
  })
  const scrape = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  const issuer = 'issuer="http://api.test"'
  for (const result of ['answered', 'connection', 'status', 'response', 'suspended'])
    t.match(scrape, new RegExp(`scopegate_introspections_total{${issuer},result="${result}"} [1-9]`))
  t.match(scrape, `scopegate_introspections_in_flight{${issuer},state="working"} 0`)
})

t.test('a client gets 503 when the issuer sends no response or an incomplete response', async (t) => {
  const under = await startWithDeadline(t, 150)
  under.issuer.store('good', { scope: 'courses:read' })
  await checkUnanswered(t, under, 'silence', () => undefined)
  await checkUnanswered(t, under, 'an incomplete response', (response) =>
    response.writeHead(200, { 'content-length': '500' }).write('{"active":true'),
  )
  t.equal(under.upstream.bytes, '')
  t.match(
    await (await fetch(`${under.gateway.managementUrl}/metrics`)).text(),
    'scopegate_introspections_total{issuer="http://api.test",result="timeout"} 2',
  )
})

t.test('wrong client credentials of the gateway cause 503 and a degraded readiness check', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map((issuer) => ({
        ...issuer,
        introspection: issuer.introspection && { ...issuer.introspection, clientSecret: 'an old one' },
      })),
    }),
  })
  under.issuer.store('good', { scope: 'courses:read' })
  const { status, challenge } = await call(under, '/pub/x', { token: 'good' })
  t.equal(status, 503)
  t.equal(challenge, null)
  const ready = await fetch(`${under.gateway.managementUrl}/readyz?verbose`)
  t.equal(ready.status, 200, 'anonymous callers and JWTs are still served')
  t.match(
    await ready.text(),
    '[!] introspection at http://api.test: the issuer rejects the client credentials of the gateway',
  )
  t.equal(under.log().filter(({ event }) => event === 'introspection_credentials_refused').length, 1)
  t.notMatch(under.logText(), 'an old one')
})

t.test('a thousand concurrent uses of one new token share one introspection', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.issuer.store('good', { scope: 'courses:read' })
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => call(under, '/api/courses', { token: 'good' })),
  )
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(under.issuer.asked.length, 1)
})

t.test('unknown paths and methods get JSON errors, and Allow lists the methods of the path', async (t) => {
  const under = await startGatewayUnderTest(t)
  for (const path of [
    '/nothing',
    '/api',
    '/api/courses/',
    '/API/courses',
    '/.well-known/oauth-protected-resource/mcp',
  ]) {
    const { status, body, headers } = await call(under, path)
    t.equal(status, 404, path)
    t.equal(body['error'], 'not_found')
    t.equal(headers.get('access-control-allow-origin'), '*')
  }
  const wrong = await call(under, '/api/courses', { method: 'PUT' })
  t.equal(wrong.status, 405)
  t.equal(wrong.headers.get('allow'), 'GET, HEAD, POST, OPTIONS')
  t.equal(wrong.body['error'], 'method_not_allowed')
  t.equal(under.upstream.bytes, '')
})

t.test('the gateway responds to a preflight from any origin itself', async (t) => {
  const under = await startGatewayUnderTest(t)
  for (const path of ['/api/courses', '/api/denied', '/auth.md']) {
    const { status, headers } = await call(under, path, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.test', 'access-control-request-method': 'POST' },
    })
    t.equal(status, 204, path)
    t.equal(headers.get('access-control-allow-origin'), '*')
    t.equal(headers.get('access-control-allow-credentials'), null)
    t.match(headers.get('access-control-allow-methods'), /GET/)
  }
  t.equal((await call(under, '/nothing', { method: 'OPTIONS' })).status, 404)
  t.equal(under.upstream.bytes, '')
})
