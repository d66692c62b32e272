import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { type JwtIssuer, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { part, signJws } from '../fixtures/jws.ts'
import { send } from '../fixtures/send.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
routes:
  - { name: any, match: { methods: [GET, POST], path: "/**" }, scopes: { all: [posts:read] } }
`
const PATH = '/.well-known/scopegate/security-events'
const BASE = 'https://schemas.openid.net/secevent'
const SESSION = `${BASE}/caep/event-type/session-revoked`
const TOKEN = `${BASE}/oauth/event-type/token-revoked`
const AUDIENCE = 'https://api.test/events'

type Claims = Readonly<Record<string, unknown>>

const now = () => Math.floor(Date.now() / 1_000)
const ofSubject = ({ issuer }: JwtIssuer, sub = 'user-1') => ({ format: 'iss_sub', iss: issuer, sub })

/**
 * Returns a security event token that revokes all sessions of user-1. `claims` and `header` replace values of the
 * token.
 */
const anEvent = (by: JwtIssuer, claims: Claims = {}, header: Claims = {}): string =>
  by.sign(
    {
      client_id: undefined,
      sub: undefined,
      exp: undefined,
      aud: AUDIENCE,
      jti: 'event-1',
      sub_id: ofSubject(by),
      events: { [SESSION]: {} },
      ...claims,
    },
    { typ: 'secevent+jwt', ...header },
  )

/**
 * Starts a gateway with three issuers. The gateway accepts tokens of all issuers, events of A and B, and no events of
 * C. After a lookup of an unknown key of B, the gateway fetches the keys of B again only after 10 minutes.
 */
async function start(t: Test, redis?: string) {
  const issuers = await Promise.all([startJwtIssuer(), startJwtIssuer(), startJwtIssuer()])
  const [a, b, c] = issuers
  t.teardown(() => Promise.all(issuers.map((one) => one.close())))
  const securityEvents = { audience: [AUDIENCE] }
  const another = () =>
    startGatewayUnderTest(t, {
      policy: POLICY,
      change: (config) => ({
        ...config,
        issuers: [
          { ...aJwtIssuerConfig(a.issuer), securityEvents },
          { ...aJwtIssuerConfig(b.issuer, { cooldownMs: 600_000 }), securityEvents },
          aJwtIssuerConfig(c.issuer),
        ],
        redis: redis === undefined ? undefined : { url: redis },
      }),
    })
  return { a, b, c, another, ...withGateway(await another()) }
}

function withGateway(world: Awaited<ReturnType<typeof startGatewayUnderTest>>) {
  const { gateway } = world
  return {
    ...world,
    post: (body: string, headers: Readonly<Record<string, string>> = {}) =>
      send(gateway.url + PATH, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/secevent+jwt', ...headers },
      }),
    statusOf: async (token: string) => (await send(`${gateway.url}/x`, { token })).status,
  }
}

const aToken = (by: JwtIssuer, claims: Claims = {}): string =>
  by.sign({ aud: BASE_URL, scope: 'posts:read', jti: 'token-1', ...claims })

// The gateway and the issuers of all tests that do not call start(). Each of these tests uses other subjects.
const { a, b, c, gateway, post, statusOf, upstream, log, logText } = await start(t)

t.test('RFC 8935 §2.4: an invalid event, or an event of an unlisted issuer, changes nothing', async (t) => {
  const token = aToken(a)
  const good = anEvent(a)
  const [header = '', claims = '', signature = ''] = good.split('.')
  const stranger = await startJwtIssuer()
  t.teardown(stranger.close)
  const rows: readonly (readonly [string, string, string])[] = [
    ['nothing', '', 'invalid_request'],
    ['text', 'hello', 'invalid_request'],
    ['JSON', '{"events":{}}', 'invalid_request'],
    ['three dots', `${good}.`, 'invalid_request'],
    ['white space', `${good}\n`, 'invalid_request'],
    ['padding', `${good}==`, 'invalid_request'],
    ['no signature', `${header}.${claims}.`, 'invalid_request'],
    ['two events', `${good}\r\n${good}`, 'invalid_request'],
    [
      'alg none',
      anEvent(a, {}, { alg: 'ES256' }).replace(/^[^.]+/, part({ alg: 'none', typ: 'secevent+jwt' })),
      'invalid_key',
    ],
    ['an access token', aToken(a), 'invalid_request'],
    [
      'an access token with events',
      aToken(a, { aud: AUDIENCE, events: { [SESSION]: {} } }),
      'invalid_request',
    ],
    ['typ JWT', anEvent(a, {}, { typ: 'JWT' }), 'invalid_request'],
    ['typ logout+jwt', anEvent(a, {}, { typ: 'logout+jwt' }), 'invalid_request'],
    ['no typ', anEvent(a, {}, { typ: undefined }), 'invalid_request'],
    ['an issuer that may not send events', anEvent(c), 'invalid_issuer'],
    ['an unknown issuer', anEvent(stranger), 'invalid_issuer'],
    ['no issuer', anEvent(a, { iss: undefined }), 'invalid_issuer'],
    ['a list of issuers', anEvent(a, { iss: [a.issuer] }), 'invalid_issuer'],
    ['an issuer with a trailing slash', anEvent(a, { iss: `${a.issuer}/` }), 'invalid_issuer'],
    ['__proto__ for an issuer', anEvent(a, { iss: '__proto__' }), 'invalid_issuer'],
    ["another issuer's name", anEvent(b, { iss: a.issuer, sub_id: ofSubject(a) }), 'authentication_failed'],
    [
      "a stranger's signature",
      signJws(
        { alg: 'ES256', typ: 'secevent+jwt', kid: a.key().jwk['kid'] },
        {
          iss: a.issuer,
          aud: AUDIENCE,
          iat: now(),
          jti: 'x',
          sub_id: ofSubject(a),
          events: { [SESSION]: {} },
        },
        stranger.key().privateKey,
      ),
      'authentication_failed',
    ],
    [
      'other claims',
      `${header}.${part({ iss: a.issuer, aud: AUDIENCE, iat: now(), jti: 'x', events: { [SESSION]: {} } })}.${signature}`,
      'authentication_failed',
    ],
    ['no aud', anEvent(a, { aud: undefined }), 'invalid_audience'],
    ["the API's aud", anEvent(a, { aud: BASE_URL }), 'invalid_audience'],
    ['a part of the aud', anEvent(a, { aud: AUDIENCE.slice(0, -1) }), 'invalid_audience'],
    ['an object of auds', anEvent(a, { aud: { [AUDIENCE]: true } }), 'invalid_audience'],
    ['auds in a list in a list', anEvent(a, { aud: [[[AUDIENCE]]] }), 'invalid_audience'],
    ['no jti', anEvent(a, { jti: undefined }), 'invalid_request'],
    ['an empty jti', anEvent(a, { jti: '' }), 'invalid_request'],
    ['a number for a jti', anEvent(a, { jti: 1 }), 'invalid_request'],
    ['a long jti', anEvent(a, { jti: 'x'.repeat(257) }), 'invalid_request'],
    ['no iat', anEvent(a, { iat: undefined }), 'invalid_request'],
    ['iat in the future', anEvent(a, { iat: now() + 3_600 }), 'invalid_request'],
    ['iat as text', anEvent(a, { iat: String(now()) }), 'invalid_request'],
    ['iat with a fraction', anEvent(a, { iat: now() - 0.5 }), 'invalid_request'],
    ['an exp in the past', anEvent(a, { exp: now() - 3_600 }), 'invalid_request'],
    ['an exp of null', anEvent(a, { exp: null }), 'invalid_request'],
    ['no events', anEvent(a, { events: undefined }), 'invalid_request'],
    ['an empty events object', anEvent(a, { events: {} }), 'invalid_request'],
    ['a list of events', anEvent(a, { events: [SESSION] }), 'invalid_request'],
    ['an event of null', anEvent(a, { events: { [SESSION]: null } }), 'invalid_request'],
    ['an event of text', anEvent(a, { events: { [SESSION]: 'yes' } }), 'invalid_request'],
    ['one valid and one invalid event', anEvent(a, { events: { [SESSION]: {}, x: [] } }), 'invalid_request'],
    ['nobody', anEvent(a, { sub_id: undefined }), 'invalid_request'],
    ['a subject as text', anEvent(a, { sub_id: 'user-1' }), 'invalid_request'],
    ['a subject as null', anEvent(a, { sub_id: null }), 'invalid_request'],
    [
      'two members of one name',
      `${part('{"alg":"ES256","alg":"ES256","typ":"secevent+jwt"}')}.${claims}.${signature}`,
      'invalid_request',
    ],
    ['crit', anEvent(a, {}, { crit: ['x'], x: 1 }), 'invalid_request'],
    ['an unknown kid', anEvent(a, {}, { kid: '../../etc/passwd' }), 'invalid_key'],
    [
      'another alg',
      anEvent(a, {}, { alg: 'ES256' }).replace(/^[^.]+/, part({ alg: 'HS256', typ: 'secevent+jwt' })),
      'invalid_key',
    ],
  ]
  for (const [name, body, err] of rows) {
    const answer = await post(body)
    t.match(answer, { status: 400, json: { err } }, name)
    t.same(Object.keys(answer.json), ['err', 'description'], name)
    t.equal(answer.headers.get('content-language'), 'en', name)
    t.equal(answer.headers.get('cache-control'), 'no-store', `T5: ${name}`)
    t.equal(answer.headers.get('www-authenticate'), null, name)
  }
  for (const type of ['application/json', 'application/jwt', 'text/plain', 'application/secevent+jwt2', ''])
    t.match(
      await post(good, { 'content-type': type }),
      { status: 400, json: { err: 'invalid_request' } },
      type,
    )
  t.equal(await statusOf(token), 200, 'no token was revoked')
  t.notOk(logText().includes(signature), 'no event is logged')

  const accepted = await post(good)
  t.equal(accepted.status, 202)
  t.equal(accepted.headers.get('content-length'), '0', 'no chunked encoding for an empty body')
  t.equal(accepted.headers.get('cache-control'), 'no-store', 'an accepted event')
  t.equal(await statusOf(token), 401)
  t.equal(await statusOf(good), 401, 'an event is not an access token')
  t.equal(upstream.requests.length, 1, 'no event was forwarded')
})

t.test('RFC 8935 §2.2: an event revokes the tokens of its subject up to its time', async (t) => {
  const at = now() - 50
  const about = { iat: at }
  const rows: readonly (readonly [string, Claims, { readonly [claim: string]: unknown }, number])[] = [
    ['session-revoked', { ...about }, { iat: at }, 401],
    ['the same, issued later', { ...about }, { iat: at + 1 }, 200],
    [
      'account-disabled',
      { ...about, events: { [`${BASE}/risc/event-type/account-disabled`]: { reason: 'hijacking' } } },
      { iat: at },
      401,
    ],
    [
      'account-purged',
      { ...about, events: { [`${BASE}/risc/event-type/account-purged`]: {} } },
      { iat: at },
      401,
    ],
    [
      'credential-compromise',
      { ...about, events: { [`${BASE}/risc/event-type/credential-compromise`]: {} } },
      { iat: at },
      401,
    ],
    [
      'sessions-revoked',
      { ...about, events: { [`${BASE}/risc/event-type/sessions-revoked`]: {} } },
      { iat: at },
      401,
    ],
    ['two events at once', { ...about, events: { 'https://e.test/x': {}, [SESSION]: {} } }, { iat: at }, 401],
    ['aud in a list', { ...about, aud: ['x', AUDIENCE] }, { iat: at }, 401],
    [
      'token-revoked by jwt_id',
      { ...about, sub_id: 'jwt', events: { [TOKEN]: {} } },
      { jti: 'of this row', iat: at + 9 },
      401,
    ],
    [
      'token-revoked: other tokens',
      { ...about, sub_id: 'jwt', events: { [TOKEN]: {} } },
      { jti: 'another', iat: at },
      200,
    ],
    // The gateway accepts these events, but the events have no effect. No caller of this gateway matches, or the
    // gateway does not support the type.
    [
      'token-claims-change',
      { ...about, events: { [`${BASE}/caep/event-type/token-claims-change`]: { claims: {} } } },
      { iat: at },
      200,
    ],
    [
      'verification',
      {
        ...about,
        sub_id: { format: 'opaque', id: 's' },
        events: { [`${BASE}/ssf/event-type/verification`]: { state: 'x' } },
      },
      { iat: at },
      200,
    ],
    ['a session without its user', { ...about, sub_id: { format: 'opaque', id: 'sid-1' } }, { iat: at }, 200],
    [
      'an email address',
      { ...about, sub_id: { format: 'email', email: 'user-1@example.com' } },
      { iat: at },
      200,
    ],
    ['a token for a subject', { ...about, sub_id: 'jwt' }, { jti: 'of this row', iat: at }, 200],
    ['a subject for a token', { ...about, events: { [TOKEN]: {} } }, { iat: at }, 200],
    ['constructor', { ...about, events: { constructor: {} } }, { iat: at }, 200],
  ]
  for (const [index, [name, claims, of, status]] of rows.entries()) {
    const sub = `user of row ${index}`
    const jti = `of row ${index}`
    const ids = (value: unknown) => (value === 'of this row' ? jti : value)
    const subject =
      claims['sub_id'] === 'jwt'
        ? { format: 'jwt_id', iss: a.issuer, jti }
        : (claims['sub_id'] ?? ofSubject(a, sub))
    const event = anEvent(a, { ...claims, sub_id: subject, jti: `e${index}` })
    const token = aToken(a, { sub, ...of, jti: ids(of['jti']) ?? jti })
    const ofB = aToken(b, { sub, ...of, jti: ids(of['jti']) ?? jti })
    t.equal(await statusOf(token), 200, name)
    const answer = await post(event)
    t.match(answer, { status: 202, text: '' }, name)
    t.match(
      log().findLast(({ event }) => String(event).startsWith('security_event_')),
      { request_id: answer.headers.get('x-request-id'), 'client.address': '127.0.0.1' },
      name,
    )
    t.equal(await statusOf(token), status, name)
    t.equal(await statusOf(ofB), 200, `${name}: tokens of another issuer stay valid`)
  }
  const ignored = log().filter(({ event }) => event === 'security_event_ignored')
  t.ok(ignored.some(({ types }) => String(types).includes('token-claims-change')))

  for (const [index, subject] of [
    { subject: { subject_type: 'iss-sub', iss: a.issuer, sub: 'f' } },
    { subject: { format: 'iss_sub', iss: a.issuer, sub: 'f' } },
    { sub: 'f' },
    { sub_id: { format: 'complex', user: ofSubject(a, 'f'), session: { format: 'opaque', id: 's' } } },
    { subject: { user: ofSubject(a, 'f') } },
  ].entries()) {
    const sub = `form ${index}`
    const form = JSON.parse(JSON.stringify(subject).replaceAll('"f"', JSON.stringify(sub))) as Claims
    const { subject: inEvent, ...top } = form
    const payload = inEvent === undefined ? {} : { subject: inEvent }
    const token = aToken(a, { sub })
    t.equal(await statusOf(token), 200)
    t.equal(
      (await post(anEvent(a, { sub_id: undefined, ...top, events: { [SESSION]: payload } }))).status,
      202,
    )
    t.equal(await statusOf(token), 401, JSON.stringify(subject))
  }

  // An issuer cannot revoke tokens of another issuer.
  const theirs = aToken(b, { sub: 'somebody of b' })
  t.equal((await post(anEvent(a, { sub_id: ofSubject(b, 'somebody of b') }))).status, 202)
  t.equal(await statusOf(theirs), 200)
})

t.test('a repeated or late event does not change the effect of a newer event', async (t) => {
  const sub_id = ofSubject(a, 'late')
  const old = anEvent(a, { iat: now() - 100, jti: 'old', sub_id })
  const recent = anEvent(a, { iat: now() - 10, jti: 'recent', sub_id })
  const [before, between, after] = [-120, -50, 0].map((seconds) =>
    aToken(a, { sub: 'late', jti: `${seconds}`, iat: now() + seconds }),
  )
  for (const event of [recent, old, recent, old]) {
    t.equal((await post(event)).status, 202)
    t.same(await Promise.all([before, between, after].map((token) => statusOf(token ?? ''))), [401, 401, 200])
  }
})

t.test('the events endpoint accepts only POST, at one path, and limits the body size', async (t) => {
  const before = upstream.requests.length
  const url = gateway.url + PATH
  t.match(await send(url, { method: 'DELETE' }), { status: 405, json: { error: 'method_not_allowed' } })
  t.equal((await send(`${url}/x`, { method: 'POST', body: 'x' })).status, 404)
  t.equal((await send(`${url}/`, { method: 'POST', body: 'x' })).status, 404)
  const type = 'Content-Type: application/secevent+jwt'
  const head = `POST ${PATH} HTTP/1.1\r\nHost: a\r\n${type}\r\n`
  const next = 'GET /auth.md HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const announced = await sendBytes(
    url,
    `${head}Content-Length: 8193\r\nConnection: close\r\n\r\n${'x'.repeat(8_193)}`,
  )
  t.same(announced.statuses, [413])
  const chunk = `2000\r\n${'x'.repeat(8_192)}\r\n`
  const chunked = await sendBytes(url, [
    `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`,
    chunk,
    '0\r\n\r\n',
  ])
  t.same(chunked.statuses, [413])
  const event = anEvent(a)
  const waits = await sendBytes(
    url,
    `${head}Expect: 100-continue\r\nContent-Length: ${event.length}\r\n\r\n${event}${next}`,
  )
  t.match(waits.text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
  t.same(waits.statuses, [202, 200], 'the next request on the connection is separate')
  const half = await sendBytes(url, `${head}Content-Length: 100\r\n\r\nhalf`, { hangsUp: true })
  t.notMatch(half.text, /^HTTP\/1\.1 202 /)
  const both = await sendBytes(url, `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)
  t.same(both.statuses, [400])
  t.equal(
    (await post(event, { authorization: 'Bearer junk', cookie: 'a=b' })).status,
    202,
    'credentials are ignored',
  )
  t.equal(upstream.requests.length, before)
})

t.test(
  'an event with a new key gets 503, not 400, while the gateway may not fetch the keys again',
  async (t) => {
    t.match(await post(anEvent(b, {}, { kid: 'nobodys' })), { status: 400, json: { err: 'invalid_key' } })
    b.rotate()
    const answer = await post(anEvent(b))
    t.match(answer, { status: 503, text: '' })
    t.ok(Number(answer.headers.get('retry-after')) >= 1)
  },
)

t.test('while the keys are unavailable, an event gets 503', async (t) => {
  await b.stop()
  const fresh = b.rotate()
  const answer = await post(anEvent(b, {}, { kid: fresh.jwk['kid'] }))
  t.match(answer, { status: 503, text: '' })
  t.ok(Number(answer.headers.get('retry-after')) >= 1)
})

/** Omits headers with values that differ in each run. */
function headersOf({ headers }: { readonly headers: Headers }): Readonly<Record<string, string>> {
  const {
    date,
    connection,
    'keep-alive': keepAlive,
    'x-request-id': id,
    ...rest
  } = Object.fromEntries(headers)
  return { ...rest, ...(id === undefined ? {} : { 'x-request-id': id.replace(/^[0-9a-f-]{36}$/, 'ID') }) }
}

t.test('RFC 8935 §2: the responses of the events endpoint have exactly these headers', async (t) => {
  const ownIssuer = await startJwtIssuer()
  t.teardown(ownIssuer.close)
  const { gateway } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      debug: { policyHeader: true },
      issuers: [{ ...aJwtIssuerConfig(ownIssuer.issuer), securityEvents: { audience: [AUDIENCE] } }],
    }),
  })
  const deliver = async (body: string, type = 'application/secevent+jwt') => {
    const answer = await send(gateway.url + PATH, { method: 'POST', body, headers: { 'content-type': type } })
    const headers = headersOf(answer)
    const { ratelimit, 'ratelimit-policy': policy, 'x-scopegate-policy': hash, ...rest } = headers
    t.match(ratelimit, /^"default";r=\d+;t=\d+$/)
    t.match(policy, /^"default";q=\d+;w=\d+$/)
    t.match(hash, /^[0-9a-f]{12}$/)
    return { status: answer.status, headers: rest, text: answer.text }
  }
  const always = { 'x-request-id': 'ID', 'cache-control': 'no-store' }
  const accepted = { status: 202, headers: { ...always, 'content-length': '0' }, text: '' }
  t.strictSame(await deliver(anEvent(ownIssuer)), accepted)
  t.strictSame(await deliver(anEvent(ownIssuer), ' Application/SecEvent+JWT ; charset=utf-8'), accepted)
  t.strictSame(await deliver(anEvent(ownIssuer), 'text/plain'), {
    status: 400,
    headers: {
      ...always,
      'x-scopegate-error': '1',
      'content-type': 'application/json',
      'content-language': 'en',
      'content-length': '104',
    },
    text: '{"err":"invalid_request","description":"Send the event with the content type application/secevent+jwt."}',
  })
  await ownIssuer.stop()
  t.strictSame(await deliver(anEvent(ownIssuer, {}, { kid: 'another' })), {
    status: 503,
    headers: { ...always, 'x-scopegate-error': '1', 'retry-after': '5', 'content-length': '0' },
    text: '',
  })
})

t.test('an event must arrive within five seconds', async (t) => {
  const setTimer = mock.method(globalThis, 'setTimeout')
  t.teardown(() => setTimer.mock.restore())
  t.equal((await post(anEvent(a))).status, 202)
  const timers = setTimer.mock.calls.map((call): readonly unknown[] => call.arguments)
  t.strictSame(
    timers.filter((timer) => timer.includes('too_slow')).map(([, delayMs]) => delayMs),
    [5_000],
  )
})

t.test('the events endpoint exists only when an issuer may send events', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
  const answer = await send(gateway.url + PATH, {
    method: 'POST',
    body: 'x',
    headers: { 'content-type': 'application/secevent+jwt' },
  })
  t.match(answer, { status: 404, json: { error: 'not_found' } })
  t.equal(upstream.requests.length, 0, 'not even to a route for every path')
})

t.test('with Redis an event reaches every gateway, also a gateway that starts later', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(redis.stop)
  const { a, post, statusOf, another } = await start(t, redis.url)
  const two = withGateway(await another())
  const [token, later] = [aToken(a, { iat: now() - 60 }), aToken(a, { iat: now() - 20 })]
  t.equal(await two.statusOf(token), 200)
  const event = anEvent(a, { iat: now() - 40 })
  await until('the event is accepted', async () => (await post(event)).status === 202)
  t.equal(await statusOf(token), 401)
  await until('the event is effective in the other gateway', async () => (await two.statusOf(token)) === 401)
  const three = withGateway(await another())
  await until(
    'the event is effective in a gateway that started later',
    async () => (await three.statusOf(token)) === 401,
  )
  for (const { statusOf: of } of [two, three]) t.equal(await of(later), 200, 'a token issued later is valid')
  // The first event is 40 s old, and the second event is 10 s old. Both events are older than the arrival of the first
  // event. The gateways must still apply the second event.
  await until(
    'the event is accepted',
    async () => (await two.post(anEvent(a, { iat: now() - 10 }))).status === 202,
  )
  await until(
    'the event is effective in the third gateway',
    async () => (await three.statusOf(later)) === 401,
  )

  // An event revokes the tokens that were issued until the second of the event. The response can take longer than a
  // second.
  const beforeEvent = aToken(a, { sub: 'user-2', iat: now() - 60 })
  await redis.stop()
  const away = await until('the outage of Redis is detected', async () => {
    const answer = await post(anEvent(a, { sub_id: ofSubject(a, 'user-2') }))
    return answer.status === 503 && answer
  })
  t.ok(
    Number(away.headers.get('retry-after')) >= 1,
    'the issuer must retry, because the other gateways got no event',
  )
  t.equal(await statusOf(beforeEvent), 401, 'and the event is effective in this gateway')
})
