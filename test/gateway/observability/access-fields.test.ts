import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'
import { until } from '../../fixtures/until.ts'
import { openWebsocket } from '../../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../../fixtures/websocket-upstream.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
defaults: { anonymous: allow }
routes:
  - { name: open, match: { methods: [GET], path: "/pub/**" } }
  - { name: scoped, match: { methods: [GET], path: /scoped }, scopes: { all: [courses:read] } }
  - { name: when, match: { methods: [GET], path: /when }, anonymous: challenge, when: [{ claim: team, equals: a }] }
  - { name: limited, match: { methods: [GET], path: /limited }, rateLimit: { requests: 1, per: 1h, by: ip } }
  - { name: tried, match: { methods: [GET], path: /tried }, enforce: report, scopes: { all: [courses:write] } }
  - { name: live, match: { methods: [GET], path: /live }, websocket: true }
`

/** Returns a pattern for the location of the first object with this text. The folder of the policy is not fixed. */
function placeOf(start: string): RegExp {
  const lines = POLICY.split('\n')
  const line = lines.findIndex((text) => text.includes(start))
  return new RegExp(`\\.policy\\.yaml:${line + 1}:${(lines[line]?.indexOf(start) ?? 0) + 1}$`)
}

type Line = Readonly<Record<string, unknown>>

const START = ['level', 'time', 'service', 'event', 'request_id']
const REQUEST = ['http.request.method', 'url.path']
const OWN_ROUTE = ['http.route', 'route', 'policy.hash']
const ROUTE = ['http.route', 'route', 'upstream', 'policy.hash']
const STATUS = ['http.response.status_code', 'duration_ms']
const UPSTREAM = ['upstream.status', 'upstream.duration_ms']
const CLIENT = ['client.address', 'user_agent.original']
const DECISION = ['auth.decision', 'auth.reason']
const CALLER = ['auth.client_id', 'auth.subject', 'auth.scopes_granted']

/** The fields of the access line if the gateway forwarded the request and the upstream responded. */
const FORWARDED = [...START, ...REQUEST, ...ROUTE, ...STATUS, ...UPSTREAM, ...CLIENT, ...DECISION]
/** The same fields on a route that requires scopes. */
const SCOPED = FORWARDED.toSpliced(FORWARDED.indexOf('policy.hash') + 1, 0, 'auth.scopes_required')
/** The fields of the access line if the request matched an API route and the gateway did not forward the request. */
const REJECTED = [...START, ...REQUEST, ...ROUTE, ...STATUS, ...CLIENT, ...DECISION]
/** The same fields if a rule of the policy denied the request. */
const DENIED = [...REJECTED, 'policy.place']

/** Returns a function that sends a request and returns the access line. Call the function for one request at a time. */
function accessLines(under: GatewayUnderTest) {
  let seen = 0
  return async (request: () => Promise<unknown>): Promise<Line> => {
    await request()
    const line = await until('the access line', async () => {
      return under.log().filter(({ event }) => event === 'access')[seen]
    })
    seen += 1
    return line
  }
}

/** Asserts the names and the order of the fields. Also asserts the values that every access line of these tests has. */
function hasFields(t: Test, line: Line, fields: readonly string[], what: string): void {
  t.strictSame(Object.keys(line), fields, what)
  t.match(line, { level: 'info', time: /^\d{4}-\d\d-\d\dT.*Z$/, service: 'gateway', event: 'access' }, what)
  t.match(line, { request_id: /^[0-9a-f-]{36}$/, 'client.address': '127.0.0.1' }, what)
}

t.test('each kind of access line has exactly its fields', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: POLICY })
  const { issuer, upstream, gateway } = under
  const lineOf = accessLines(under)
  const call = (path: string, message: Parameters<typeof send>[1] = {}) =>
    lineOf(() => send(`${gateway.url}${path}`, message))
  issuer.store('person', { scope: 'courses:read', client_id: 'app', sub: 'user-1', team: 'b' })
  issuer.store('machine', { scope: 'courses:read', client_id: 'app', sub: undefined })

  const anonymous = await call('/pub/x')
  hasFields(t, anonymous, FORWARDED, 'an anonymous request')
  t.match(anonymous, {
    'http.request.method': 'GET',
    'url.path': '/pub/x',
    'http.route': '/pub/**',
    route: 'test/open',
    upstream: 'api',
    'policy.hash': /^[0-9a-f]{12}$/,
    'http.response.status_code': 200,
    'upstream.status': 200,
    'user_agent.original': 'node',
    'auth.decision': 'allow',
    'auth.reason': 'anonymous',
  })
  const person = await call('/scoped', { token: 'person' })
  hasFields(t, person, [...SCOPED, ...CALLER], 'a request of a person')
  t.match(person, { 'auth.scopes_required': ['courses:read'], 'auth.scopes_granted': ['courses:read'] })
  t.match(person, { 'auth.reason': 'ok', 'auth.client_id': 'app', 'auth.subject': /^[\w-]{16}$/ })
  hasFields(
    t,
    await call('/scoped', { token: 'machine' }),
    [...SCOPED, 'auth.client_id', 'auth.scopes_granted'],
    'of a client alone',
  )

  const lacking = await call('/tried', { token: 'person' })
  hasFields(
    t,
    lacking,
    [...SCOPED, 'auth.would', 'auth.would_reason', 'policy.place', ...CALLER, 'auth.scopes_missing'],
    'a denial that is only logged',
  )
  t.match(lacking, {
    'auth.would': 'deny',
    'auth.would_reason': 'insufficient_scope',
    'auth.scopes_missing': ['courses:write'],
    'policy.place': placeOf('{ name: tried'),
  })
  const scoped = await call('/scoped')
  hasFields(t, scoped, SCOPED, 'an anonymous request on a route with scopes')

  const condition = await call('/when', { token: 'person' })
  hasFields(t, condition, [...DENIED, ...CALLER, 'auth.condition', 'error.type'], 'a condition that fails')
  t.match(condition, {
    'auth.decision': 'deny',
    'auth.reason': 'condition',
    'error.type': 'condition_failed',
    'policy.place': placeOf('{ claim: team'),
  })
  t.type(condition['auth.condition'], 'string')
  issuer.store('member', { scope: 'courses:read', client_id: 'app', sub: 'user-2', team: 'a' })
  const member = await call('/when', { token: 'member' })
  hasFields(t, member, [...FORWARDED, ...CALLER], 'a condition that holds')
  const challenged = await call('/when')
  hasFields(t, challenged, [...DENIED, 'error.type'], 'a challenge')
  t.match(challenged, {
    'policy.place': placeOf('{ name: when'),
    'auth.decision': 'challenge',
    'error.type': 'token_missing',
  })

  const limited = await call('/limited')
  hasFields(t, limited, [...FORWARDED, 'rate_limit.remaining'], 'a route with a rate limit')
  t.equal(limited['rate_limit.remaining'], 0)
  const over = await call('/limited')
  hasFields(
    t,
    over,
    [...DENIED, 'rate_limit.remaining', 'rate_limit.rejected_by', 'error.type'],
    'a request over the limit',
  )
  t.match(over, {
    'rate_limit.rejected_by': 'default',
    'policy.place': placeOf('{ name: limited'),
    'auth.reason': 'rate_limited',
    'error.type': 'rate_limited',
  })

  const invalid = await call('/pub/x', { token: 'unknown' })
  hasFields(t, invalid, [...REJECTED, 'auth.token_fault', 'error.type'], 'an invalid token')
  t.match(invalid, {
    'auth.token_fault': 'inactive',
    'auth.decision': 'deny',
    'auth.reason': 'invalid_token',
    'error.type': 'token_invalid',
  })
  issuer.answerWith((response) => response.writeHead(500).end())
  const unverifiable = await call('/pub/x', { token: 'new' })
  issuer.answerWith(undefined)
  hasFields(t, unverifiable, [...REJECTED, 'error.type', 'error.code'], 'a token that cannot be validated')
  t.match(unverifiable, {
    'auth.reason': 'unverifiable',
    'error.type': 'token_unverifiable',
    'error.code': 'ERR_INTROSPECTION_STATUS',
  })

  upstream.reply((socket) => socket.destroy())
  const broken = await call('/pub/x')
  hasFields(t, broken, [...REJECTED, 'error.type', 'error.code'], 'an upstream that gives no response')
  t.match(broken, { 'error.type': 'upstream_reset', 'error.code': 'ERR_UPSTREAM_RESET' })
  upstream.reply('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')

  const unmatched = await call('/nothing')
  hasFields(
    t,
    unmatched,
    [...START, ...REQUEST, ...STATUS, ...CLIENT, 'error.type'],
    'a path without a route',
  )
  t.match(unmatched, { 'http.response.status_code': 404, 'error.type': 'route_unknown' })
  hasFields(
    t,
    await call('/openapi.json'),
    [...START, ...REQUEST, ...OWN_ROUTE, ...STATUS, ...CLIENT],
    'a document of the gateway',
  )
  hasFields(
    t,
    await call('/oauth/authorize'),
    [...START, ...REQUEST, ...ROUTE, ...STATUS, ...UPSTREAM, ...CLIENT],
    'a request to the authorization server',
  )

  const odd = await lineOf(() =>
    sendBytes(gateway.url, 'GET /a%00 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
  )
  hasFields(
    t,
    odd,
    [...START, 'http.request.method', ...STATUS, 'client.address', 'error.type'],
    'a malformed target',
  )
  const unread = await lineOf(() => sendBytes(gateway.url, 'no HTTP at all\r\n\r\n'))
  hasFields(t, unread, [...START, ...STATUS, 'client.address', 'error.type'], 'bytes that are not a request')
  t.match(unread, { 'http.response.status_code': 400, duration_ms: 0 })

  upstream.reply(() => undefined)
  const left = await lineOf(async () => {
    const asked = upstream.requests.length
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    socket.write('GET /pub/x HTTP/1.1\r\nHost: a\r\n\r\n')
    await until('the request is forwarded', async () => upstream.requests.length > asked)
    socket.destroy()
  })
  hasFields(
    t,
    left,
    [...START, ...REQUEST, ...ROUTE, ...STATUS, 'client.address', ...DECISION, 'error.type'],
    'a client that left',
  )
  t.match(left, { 'http.response.status_code': 499, 'error.type': 'client_closed' })
})

t.test('the access line of a WebSocket session has exactly its fields', async (t) => {
  const websockets = await startWebsocketUpstream()
  t.teardown(() => websockets.close())
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api' ? { ...one, urls: [websockets.url] } : one,
      ),
    }),
  })
  under.issuer.store('person', { scope: 'courses:read', client_id: 'app', aud: BASE_URL })
  const line = await accessLines(under)(async () => {
    const client = await openWebsocket(`${under.gateway.url}/live`, 'person')
    client.socket.send('hello')
    await until('the echo', async () => client.messages.length === 1)
    client.socket.close(1000)
    await client.closed
  })
  const fields = FORWARDED.filter((name) => name !== 'user_agent.original')
  const session = ['websocket.close_code', 'websocket.bytes_from_client', 'websocket.bytes_from_upstream']
  hasFields(t, line, [...fields, ...CALLER, ...session], 'a session')
  t.match(line, { 'http.response.status_code': 101, 'websocket.close_code': 1000 })
})
