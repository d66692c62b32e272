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

/** Sends the request that a browser sends before it lets a page call. */
function preflight({ gateway }: GatewayUnderTest, path: string, asked: Preflight = {}) {
  const { origin = PAGE, method = 'GET', names, more = [] } = asked
  const headers = ['origin', origin, 'access-control-request-method', method]
  if (names !== undefined) headers.push('access-control-request-headers', names)
  return sendExactly(gateway.url, path, { method: 'OPTIONS', headers: [...headers, ...more] })
}

t.test('G4: a preflight allows the header names that the browser asks for', async (t) => {
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
  t.equal(plain.headers.get('access-control-allow-headers'), null, 'none are asked for')
  t.equal(under.upstream.bytes, '')
})

t.test('G4: a preflight reflects valid names only, and a bounded number of them', async (t) => {
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
  t.equal(await allowed('x-a', ['access-control-request-headers', 'x-b']), null, 'two lines are unclear')
})

// A page can read these names, and those that Fetch safelists (Content-Type, Last-Modified, …).
const EXPOSED = [
  ...['WWW-Authenticate', 'DPoP-Nonce', 'X-Request-Id', 'X-Scopegate-Error', 'Allow', 'Retry-After'],
  ...['RateLimit', 'RateLimit-Policy', 'Mcp-Session-Id', 'MCP-Protocol-Version', 'ETag', 'Link', 'Location'],
  ...['Accept-Ranges', 'Content-Disposition', 'Content-Range', 'Deprecation', 'Sunset'],
]

t.test('G4: every response exposes the headers that clients need', async (t) => {
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
