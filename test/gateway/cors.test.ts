import t from 'tap'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { sendExactly } from '../fixtures/send-exactly.ts'

const PAGE = 'https://app.example'

type Preflight = {
  readonly origin?: string
  readonly method?: string
  readonly names?: string
  readonly more?: readonly string[]
}

function preflight({ gateway }: GatewayUnderTest, path: string, asked: Preflight = {}) {
  const { origin = PAGE, method = 'GET', names, more = [] } = asked
  const headers = ['origin', origin, 'access-control-request-method', method]
  if (names !== undefined) headers.push('access-control-request-headers', names)
  return sendExactly(gateway.url, path, { method: 'OPTIONS', headers: [...headers, ...more] })
}

t.test('a preflight allows the header names that the browser requests', async (t) => {
  const under = await startGatewayUnderTest(t)
  const names = 'authorization,if-match,last-event-id,mcp-param-region,mcp-session-id,x-school-id'
  for (const path of ['/api/courses', '/api/denied', '/auth.md']) {
    const { status, headers } = await preflight(under, path, { names })
    t.equal(status, 204, path)
    t.equal(headers.get('access-control-allow-origin'), '*')
    t.equal(headers.get('access-control-allow-headers'), names.replaceAll(',', ', '))
    t.match(headers.get('access-control-allow-methods'), /^GET, HEAD\b/)
    t.equal(headers.get('access-control-max-age'), '600')
    t.equal(headers.get('vary'), 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
    t.equal(headers.get('access-control-allow-credentials'), null)
  }
  const plain = await preflight(under, '/api/courses')
  t.equal(plain.status, 204)
  t.equal(plain.headers.get('access-control-allow-headers'), null, 'the browser requests no headers')
  t.equal(under.upstream.bytes, '')
})

t.test('a preflight response repeats only valid header names, up to a limit', async (t) => {
  const under = await startGatewayUnderTest(t)
  const allowed = async (names: string, more?: readonly string[]) =>
    (await preflight(under, '/api/courses', { names, ...(more === undefined ? {} : { more }) })).headers.get(
      'access-control-allow-headers',
    )
  t.equal(await allowed('X-Upper , x_b\t,x.c,!#$'), 'x-upper, x_b, x.c, !#$')
  t.equal(await allowed('x-ok,a b,"x",x(y),x/y,x:y,x;y,x=y,,*, * , ,x-\u00e4,\u00a0x-a'), 'x-ok')
  t.equal(await allowed('*'), null)
  t.equal(await allowed(`x-ok,${'a'.repeat(64)},${'a'.repeat(65)}`), `x-ok, ${'a'.repeat(64)}`)
  const many = Array.from({ length: 100 }, (_, at) => `x-${at}`)
  t.equal(await allowed(many.join(',')), many.slice(0, 64).join(', '))
  t.equal(
    await allowed('x-a', ['access-control-request-headers', 'x-b']),
    null,
    'two header lines are ambiguous',
  )
})

// The response headers that a page can read. Fetch always exposes some more headers, such as Content-Type and
// Last-Modified.
const EXPOSED = [
  ...['WWW-Authenticate', 'DPoP-Nonce', 'X-Request-Id', 'X-Scopegate-Error', 'Allow', 'Retry-After'],
  ...['RateLimit', 'RateLimit-Policy', 'Mcp-Session-Id', 'ETag', 'Link', 'Location'],
  ...['Content-Disposition', 'Content-Range'],
]

t.test('every response exposes the headers that clients need', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.upstream.reply(
    'HTTP/1.1 200 OK\r\ncontent-length: 0\r\nmcp-session-id: s\r\naccess-control-expose-headers: x-y\r\n\r\n',
  )
  const token = ['authorization', `Bearer ${under.issuer.store('token-1', { scope: 'posts:read' })}`]
  for (const [target, status, headers] of [
    ['/pub/x', 200, []],
    ['/auth.md', 200, []],
    ['/api/challenged', 401, []],
    ['/api/courses', 403, token],
    ['/nothing', 404, []],
    ['//', 400, []],
  ] as const) {
    const answer = await sendExactly(under.gateway.url, target, { headers: ['origin', PAGE, ...headers] })
    t.equal(answer.status, status, target)
    t.equal(answer.headers.get('access-control-allow-origin'), '*', target)
    t.same(answer.headers.get('access-control-expose-headers')?.split(', '), EXPOSED, target)
    t.equal(answer.headers.get('access-control-allow-credentials'), null, target)
  }
})

const NARROWED = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults:
  anonymous: allow
  cors: { origins: [https://app.example, "http://localhost:3000"] }
routes:
  - { name: app, match: { methods: [GET, PUT], path: /app } }
  - { name: challenged, match: { methods: [GET], path: /challenged }, anonymous: challenge }
  - { name: open, match: { methods: [GET], path: /open }, cors: { origins: ["*"] } }
  - { name: closed, match: { methods: [GET], path: /closed }, cors: { origins: [] } }
  - name: limited
    match: { methods: [GET, PUT, OPTIONS], path: /limited }
    cors: { methods: [GET], headers: [Authorization, X-School-Id] }
  - { name: read, match: { methods: [GET], path: /mixed } }
  - { name: write, match: { methods: [PUT], path: /mixed }, cors: { origins: [https://admin.example] } }
  - { name: call, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call } } }
  - { name: other, match: { methods: [POST], path: /mcp }, cors: { origins: [https://admin.example] } }
`
const ADMIN = 'https://admin.example'
const FOREIGN = 'https://foreign.example'

/**
 * Returns the CORS headers of a response, except for `expose-headers`. Removes the prefix `access-control-` of the
 * names.
 */
function corsOf(headers: Headers): Readonly<Record<string, string>> {
  const prefix = 'access-control-'
  return Object.fromEntries(
    [...headers]
      .filter(([name]) => name.startsWith(prefix) && name !== `${prefix}expose-headers`)
      .map(([name, value]) => [name.slice(prefix.length), value]),
  )
}

t.test('cors restricts the origins of responses, and the token still decides access', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: NARROWED })
  under.upstream.reply('HTTP/1.1 200 OK\r\nvary: Accept\r\ncontent-length: 0\r\n\r\n')
  const token = ['authorization', `Bearer ${under.issuer.store('token-1')}`]
  const bad = ['authorization', 'Bearer bad']
  for (const [target, status, headers] of [
    ['/app', 200, []],
    ['/challenged', 200, token],
    ['/challenged', 401, []],
    ['/app', 401, bad],
  ] as const) {
    const call = (...origin: readonly string[]) =>
      sendExactly(under.gateway.url, target, { headers: [...headers, ...origin] })
    for (const origin of [PAGE, 'http://localhost:3000']) {
      const allowed = await call('origin', origin)
      t.equal(allowed.status, status, target)
      t.same(corsOf(allowed.headers), { 'allow-origin': origin })
      t.same(allowed.headers.get('access-control-expose-headers')?.split(', '), EXPOSED)
      t.equal(allowed.headers.get('vary'), status === 200 ? 'Accept, Origin' : 'Origin')
    }
    for (const origin of [
      ['origin', FOREIGN],
      ['origin', 'null'],
      ['origin', `${PAGE}:443`],
      ['origin', PAGE, 'origin', PAGE],
      [],
    ]) {
      const narrowed = await call(...origin)
      t.equal(narrowed.status, status, `${target} ${origin.join(' ')}`)
      t.same(corsOf(narrowed.headers), {})
      t.notOk(narrowed.headers.has('access-control-expose-headers'))
      t.equal(narrowed.headers.get('vary'), status === 200 ? 'Accept, Origin' : 'Origin')
    }
  }
  const open = await sendExactly(under.gateway.url, '/open', { headers: ['origin', FOREIGN] })
  t.same(corsOf(open.headers), { 'allow-origin': '*' }, 'a route replaces the cors of defaults')
  t.equal(open.headers.get('vary'), 'Accept')
  const closed = await sendExactly(under.gateway.url, '/closed', { headers: ['origin', PAGE] })
  t.equal(closed.status, 200)
  t.same(corsOf(closed.headers), {})
})

t.test('cors restricts the methods and headers of pages', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: NARROWED })
  const call = (method: string) =>
    sendExactly(under.gateway.url, '/limited', { method, headers: ['origin', FOREIGN] })
  for (const method of ['GET', 'HEAD']) t.same(corsOf((await call(method)).headers), { 'allow-origin': '*' })
  const put = await call('PUT')
  t.equal(put.status, 200)
  t.same(corsOf(put.headers), {})
  const names = 'authorization,x-other,x-school-id'
  t.same(corsOf((await preflight(under, '/limited', { origin: FOREIGN, names })).headers), {
    'allow-origin': '*',
    'allow-methods': 'GET, HEAD',
    'allow-headers': 'authorization, x-school-id',
    'max-age': '600',
  })
  t.same(corsOf((await preflight(under, '/limited', { method: 'PUT' })).headers), {})
})

t.test('a preflight follows the cors of the routes that the page can reach', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: NARROWED })
  const allowed = (origin: string, methods: string) => ({
    'allow-origin': origin,
    'allow-methods': methods,
    'max-age': '600',
  })
  for (const [path, origin, method, cors] of [
    ['/app', PAGE, 'PUT', allowed(PAGE, 'GET, HEAD, PUT, OPTIONS')],
    ['/app', FOREIGN, 'PUT', {}],
    ['/app', 'null', 'GET', {}],
    ['/closed', PAGE, 'GET', {}],
    ['/open', FOREIGN, 'GET', allowed('*', 'GET, HEAD, OPTIONS')],
    // Two routes have this path and different origins. A browser caches the methods of a response. The response
    // therefore lists only methods that the page may use.
    ['/mixed', PAGE, 'GET', allowed(PAGE, 'GET, HEAD, OPTIONS')],
    ['/mixed', PAGE, 'PUT', {}],
    ['/mixed', ADMIN, 'PUT', allowed(ADMIN, 'PUT, OPTIONS')],
    // Two routes have this path and different values of mcp-method. A preflight does not contain this value, so both
    // pages are allowed.
    ['/mcp', PAGE, 'POST', allowed(PAGE, 'POST, OPTIONS')],
    ['/mcp', ADMIN, 'POST', allowed(ADMIN, 'POST, OPTIONS')],
    ['/mcp', FOREIGN, 'POST', {}],
    // No route of this path has the method DELETE.
    ['/app', PAGE, 'DELETE', allowed('*', 'GET, HEAD, PUT, OPTIONS')],
  ] as const) {
    const { status, headers } = await preflight(under, path, { origin, method })
    t.equal(status, 204)
    t.same(corsOf(headers), cors, `${method} ${path} of ${origin}`)
    t.equal(headers.get('vary'), 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers')
    t.ok(headers.has('allow'))
  }
  t.equal(under.upstream.bytes, '')
})
