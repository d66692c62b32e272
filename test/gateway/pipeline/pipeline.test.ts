import { connect } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { until } from '../../fixtures/until.ts'

const CLOSE = 'Host: a\r\nConnection: close\r\n'

t.test('the gateway measures durations in the log and in metrics with the monotonic clock', async (t) => {
  let nowMs = 5_000_000
  const { gateway, upstream, issuer, log, raw } = await startGatewayUnderTest(t, {
    gateway: { tickMs: () => nowMs },
  })
  issuer.store('good', { scope: 'courses:read' })
  upstream.reply((socket) => {
    nowMs += 1_500
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
  for (const _ of ['a cache miss', 'a cache hit'])
    t.match(
      await raw(`GET /api/courses HTTP/1.1\r\n${CLOSE}Authorization: Bearer good\r\n\r\n`),
      /^HTTP\/1\.1 200 /,
    )
  const isAccess = ({ event }: Readonly<Record<string, unknown>>) => event === 'access'
  await until('both lines', async () => log().filter(isAccess).length === 2)
  t.match(log().filter(isAccess), [
    { duration_ms: 1_500, 'upstream.duration_ms': 1_500 },
    { duration_ms: 1_500, 'upstream.duration_ms': 1_500 },
  ])
  issuer.answerWith((response) => {
    nowMs += 250
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}')
  })
  t.match(
    await raw(`GET /api/courses HTTP/1.1\r\n${CLOSE}Authorization: Bearer bad\r\n\r\n`),
    /^HTTP\/1\.1 401 /,
  )
  const line = await until('the third line', async () => log().filter(isAccess)[2])
  t.equal(line['duration_ms'], 250)
  const text = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
  for (const sum of [
    'http_request_duration_seconds_sum{route="test/list-courses",method="GET",code_class="2xx"} 3',
    'http_request_duration_seconds_sum{route="test/list-courses",method="GET",code_class="4xx"} 0.25',
    'upstream_request_duration_seconds_sum{upstream="api",code_class="2xx"} 3',
    'token_validation_duration_seconds_sum{kind="opaque",cache="miss"} 0.25',
    'token_validation_duration_seconds_sum{kind="opaque",cache="hit"} 0',
    'token_validation_duration_seconds_count{kind="opaque",cache="miss"} 2',
    'token_validation_duration_seconds_count{kind="opaque",cache="hit"} 1',
    'token_cache_misses_total{kind="opaque"} 2',
    'token_cache_hits_total{kind="opaque"} 1',
  ])
    t.match(text, `scopegate_${sum}\n`)
})

/** The gateway itself adds these headers to each forwarded request. */
const OWN = [
  'x-request-id: ID',
  'x-forwarded-for: 127.0.0.1',
  'x-forwarded-host: api.test',
  'x-forwarded-proto: http',
  'via: 1.1 scopegate',
]
const CALLER = [
  'x-auth-subject: user-1',
  'x-auth-client-id: client-1',
  'x-auth-scope: courses:read',
  'x-auth-issuer: http://api.test',
]
const MINE = ['X-Mine: 1', 'User-Agent: agent', 'Accept: */*']

t.test('the upstream receives exactly the expected header lines', async (t) => {
  const { authorizationServer, upstream, issuer, raw } = await startGatewayUnderTest(t)
  issuer.store('good', { scope: 'courses:read' })
  for (const [start, credential, body, expected] of [
    ['GET /api/courses', 'Bearer good', '', [...MINE, ...CALLER, ...OWN]],
    ['GET /api/courses', undefined, '', [...MINE, ...OWN]],
    [
      'GET /api/trusted',
      'Bearer good',
      '',
      [...MINE, 'authorization: Bearer good', 'cookie: a=1; b=2', ...CALLER, ...OWN],
    ],
    [
      'POST /pub/x',
      'Bearer good',
      'Content-Length: 2\r\n\r\nhi',
      [...MINE, 'content-length: 2', ...CALLER, ...OWN],
    ],
    [
      'POST /pub/x',
      'Bearer good',
      'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
      [...MINE, ...CALLER, ...OWN, 'transfer-encoding: chunked'],
    ],
    [
      'POST /api/oauth/token?a=b',
      'Basic x',
      'Content-Length: 2\r\n\r\nhi',
      [...MINE, 'authorization: Basic x', 'cookie: a=1; b=2', 'dpop: proof', 'content-length: 2', ...OWN],
    ],
  ] as const) {
    const authorization = credential === undefined ? '' : `Authorization: ${credential}\r\n`
    const more =
      'Cookie: a=1\r\nCookie: b=2\r\nDPoP: proof\r\nX-Mine: 1\r\nUser-Agent: agent\r\nAccept: */*\r\n'
    const end = body === '' ? '\r\n' : body
    t.match(
      await raw(`${start} HTTP/1.1\r\n${CLOSE}${authorization}${more}${end}`),
      /^HTTP\/1\.1 200 /,
      start,
    )
    const { requests } = start.includes('oauth') ? authorizationServer : upstream
    const lines = requests.at(-1)?.headers.map(([name, value]) => `${name}: ${value}`) ?? []
    t.strictSame(
      lines.slice(2).map((line) => line.replace(/^(x-request-id: )[0-9a-f-]{36}$/, '$1ID')),
      expected,
      `${start} ${credential}`,
    )
  }
})

t.test('a 503 of an unavailable issuer states when to retry, in whole seconds', async (t) => {
  const { issuer, raw } = await startGatewayUnderTest(t, { gateway: { tickMs: () => 5_000_000 } })
  issuer.answerWith((response) => response.destroy())
  let count = 0
  const retryAfter = async (): Promise<string | undefined> => {
    count += 1
    const request = `GET /pub/x HTTP/1.1\r\n${CLOSE}Authorization: Bearer token-${count}\r\n\r\n`
    const [head = '', body = ''] = (await raw(request)).split('\r\n\r\n')
    t.match(head, /^HTTP\/1\.1 503 /)
    const seconds = /^retry-after: (.*)$/m.exec(head)?.[1]
    t.equal(String(JSON.parse(body).retry_after), seconds)
    return seconds
  }
  for (let failure = 1; failure <= 5; failure += 1) t.equal(await retryAfter(), '2', 'no time is known')
  t.equal(await retryAfter(), '1', 'the circuit is open for one second')
})

const WEBSOCKET_POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow }
routes:
  - { name: live, match: { methods: [GET], path: /live }, websocket: true, rateLimit: { requests: 9, per: 1h, by: ip } }
`
const HANDSHAKE = 'Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncontent-length: 0\r\nx-mine: \xe9\r\n'

t.test('the client receives exactly the expected response to a WebSocket handshake', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t, {
    policy: WEBSOCKET_POLICY,
    change: (config) => ({ ...config, debug: { policyHeader: true } }),
  })
  upstream.onHead((socket) =>
    socket.write(`${SWITCH}sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n`, 'latin1'),
  )
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  let received = ''
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  socket.write(`GET /live HTTP/1.1\r\n${HANDSHAKE}${KEY}\r\n`)
  await until('the response', async () => received.includes('\r\n\r\n'))
  t.strictSame(
    received
      .replace(/^(x-request-id: )[0-9a-f-]{36}\r$/m, '$1ID\r')
      .replace(/^(x-scopegate-policy: )[0-9a-f]{12}\r$/m, '$1HASH\r')
      .split('\r\n'),
    [
      'HTTP/1.1 101 Switching Protocols',
      'connection: Upgrade',
      'upgrade: websocket',
      'x-mine: \xe9',
      'sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
      'x-request-id: ID',
      'x-scopegate-policy: HASH',
      'ratelimit-policy: "default";q=9;w=3600',
      'ratelimit: "default";r=8;t=400',
      '',
      '',
    ],
  )
  const metrics = async () => (await fetch(`${gateway.managementUrl}/metrics`)).text()
  const opened = await metrics()
  t.match(opened, 'scopegate_http_requests_total{route="test/live",method="GET",code="101"} 1\n')
  t.match(opened, /^scopegate_http_requests_in_flight 0$/m)
  t.match(opened, /^scopegate_websocket_sessions 1$/m)
  socket.destroy()
  await until('the end', async () =>
    (await metrics()).includes(
      'scopegate_websocket_sessions_closed_total{route="test/live",code="1006"} 1\n',
    ),
  )
  t.match(await metrics(), /^scopegate_websocket_sessions 0$/m)
})

t.test(
  'the gateway rejects a handshake without a key, and a handshake that the upstream does not accept',
  async (t) => {
    const { gateway, upstream, raw, log } = await startGatewayUnderTest(t, { policy: WEBSOCKET_POLICY })
    const withoutKey = await raw(`GET /live HTTP/1.1\r\n${HANDSHAKE}\r\n`)
    t.match(withoutKey, /^HTTP\/1\.1 400 /)
    t.match(
      withoutKey,
      '"error_description":"This is not a valid WebSocket handshake: RFC 6455 section 4.1."',
    )
    t.equal(upstream.requests.length, 0)
    upstream.onHead((socket) => socket.write(`${SWITCH}sec-websocket-accept: other\r\n\r\n`, 'latin1'))
    t.match(await raw(`GET /live HTTP/1.1\r\n${HANDSHAKE}${KEY}\r\n`), /^HTTP\/1\.1 502 /)
    const lines = await until('both lines', async () => {
      const access = log().filter(({ event }) => event === 'access')
      return access.length === 2 && access
    })
    t.match(lines[1], { 'error.type': 'upstream_broken', 'error.code': 'ERR_UPSTREAM_PROTOCOL' })
    t.match(
      await (await fetch(`${gateway.managementUrl}/metrics`)).text(),
      'scopegate_upstream_errors_total{upstream="api",reason="protocol"} 1\n',
    )
  },
)

t.test('a request is in flight until its response is closed', async (t) => {
  const { gateway, upstream, raw } = await startGatewayUnderTest(t)
  const inFlight = async (): Promise<string | undefined> => {
    const text = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    return /^scopegate_http_requests_in_flight (.*)$/m.exec(text)?.[1]
  }
  let replies = 0
  upstream.reply(async (socket) => {
    replies += 1
    t.equal(await inFlight(), '1')
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  })
  t.match(await raw(`GET /pub/x HTTP/1.1\r\n${CLOSE}\r\n`), /^HTTP\/1\.1 200 /)
  t.equal(replies, 1)
  await until('the end', async () => (await inFlight()) === '0')
})

const RESPONSE_POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow }
routes:
  - { name: open, match: { methods: [GET], path: /open } }
  - { name: limited, match: { methods: [GET], path: /limited }, rateLimit: { requests: 9, per: 1h, by: ip } }
`
const UPSTREAM_HEAD = [
  'HTTP/1.1 200 OK',
  'content-length: 2',
  'set-cookie: a=1',
  'set-cookie: b=2',
  'x-mine: 1',
  'x-hop: 1',
  'ratelimit: theirs',
  'ratelimit-policy: theirs',
  'access-control-allow-origin: https://theirs.test',
  'access-control-max-age: 1',
  'x-request-id: theirs',
  'x-scopegate-error: 1',
  'connection: keep-alive, x-hop',
  'keep-alive: timeout=5',
  'proxy-authenticate: Basic',
  'proxy-connection: close',
  'te: trailers',
  'trailer: x-end',
  'upgrade: h2c',
]
const COOKIES = ['set-cookie: a=1', 'set-cookie: b=2']
const THEIR_LIMITS = ['ratelimit: theirs', 'ratelimit-policy: theirs']
const OUR_CORS = [
  'access-control-allow-origin: *',
  'access-control-expose-headers: WWW-Authenticate, DPoP-Nonce, X-Request-Id, X-Scopegate-Error, Allow, Retry-After, RateLimit, RateLimit-Policy, Mcp-Session-Id, ETag, Link, Location, Content-Disposition, Content-Range',
]

t.test('the client receives exactly the expected header lines of the upstream', async (t) => {
  const { authorizationServer, upstream, raw } = await startGatewayUnderTest(t, { policy: RESPONSE_POLICY })
  for (const server of [authorizationServer, upstream])
    server.reply(`${UPSTREAM_HEAD.join('\r\n')}\r\n\r\nok`)
  for (const [path, expected] of [
    ['/open', [...COOKIES, 'x-mine: 1', ...THEIR_LIMITS, 'x-request-id: ID', ...OUR_CORS]],
    [
      '/limited',
      [
        ...COOKIES,
        'x-mine: 1',
        'x-request-id: ID',
        ...OUR_CORS,
        'ratelimit-policy: "default";q=9;w=3600',
        'ratelimit: "default";r=8;t=400',
      ],
    ],
    [
      '/oauth/authorize',
      [
        ...COOKIES,
        'x-mine: 1',
        ...THEIR_LIMITS,
        'access-control-allow-origin: https://theirs.test',
        'access-control-max-age: 1',
        'x-request-id: ID',
      ],
    ],
  ] as const) {
    const [head = ''] = (await raw(`GET ${path} HTTP/1.1\r\n${CLOSE}\r\n`)).split('\r\n\r\n')
    t.strictSame(
      head
        .replace(/^(x-request-id: )[0-9a-f-]{36}\r$/m, '$1ID\r')
        .split('\r\n')
        .filter((line) => !line.startsWith('Date: ')),
      ['HTTP/1.1 200 OK', 'content-length: 2', ...expected, 'Connection: close'],
      path,
    )
  }
})

t.test('the gateway uses a received request ID only if it is valid and from a trusted proxy', async (t) => {
  const proxied = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, trustedProxies: ['127.0.0.1'] }),
  })
  const direct = await startGatewayUnderTest(t)
  for (const [{ raw, upstream }, given, expected] of [
    [proxied, 'X-Request-Id: given-1\r\n', /^given-1$/],
    [proxied, 'X-Request-Id: given 1\r\n', /^[0-9a-f-]{36}$/],
    [proxied, '', /^[0-9a-f-]{36}$/],
    [direct, 'X-Request-Id: given-1\r\n', /^[0-9a-f-]{36}$/],
  ] as const) {
    const response = await raw(`GET /pub/x HTTP/1.1\r\n${CLOSE}${given}\r\n`)
    t.match(/^x-request-id: (.*)\r$/m.exec(response)?.[1], expected, given)
    t.match(upstream.seen('x-request-id'), [expected])
    t.strictSame(upstream.seen('x-forwarded-for'), ['127.0.0.1'])
  }
})
