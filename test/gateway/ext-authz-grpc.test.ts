import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { startDecisionEndpoint } from '../fixtures/a-decision-endpoint.ts'
import { BASE_URL } from '../fixtures/a-gateway.ts'
import { CALL, frame, type Original, openCheckClient } from '../fixtures/check-client.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

async function start(t: Test, trustedProxies = ['127.0.0.1']) {
  const endpoint = await startDecisionEndpoint(t, 'ext-authz-grpc', { trustedProxies })
  const client = await openCheckClient(t, endpoint.decisions)
  const ask = (method: string, path: string, { headers, ...rest }: Original = {}, token?: string) =>
    client.check({
      method,
      path,
      host: 'api.test',
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
      ...rest,
    })
  return { ...endpoint, client, ask }
}

t.test('an allowed call sets the identity headers, and nothing is forwarded', async (t) => {
  const { ask, upstream, logText } = await start(t)
  const allowed = await ask('GET', '/api/courses?a=1', {}, 'good')
  t.equal(allowed.status, 200)
  t.equal(allowed.upstream.get('x-auth-subject'), 'user-1')
  t.equal(allowed.upstream.get('x-auth-scope'), 'courses:read')
  t.equal(allowed.headers.get('x-auth-subject'), null, 'the client gets no identity header')
  t.ok(allowed.headers.get('x-request-id'))
  t.equal(allowed.headers.get('cache-control'), null, 'the client can cache the response of the upstream')
  t.same(allowed.removed, ['authorization'])
  t.match((await ask('GET', '/api/asserted', {}, 'good')).upstream.get('x-auth-assertion'), /^ey/)
  t.equal((await ask('GET', '/pub/x')).upstream.get('x-auth-subject'), null)
  t.equal(upstream.requests.length, 0)
  await until('the access log has the path and the client', async () =>
    /"\/pub\/x".*"192\.0\.2\.1"|"192\.0\.2\.1".*"\/pub\/x"/.test(logText()),
  )
})

t.test('an offer to upgrade the connection is denied', async (t) => {
  const { ask } = await start(t)
  const denied = await ask('GET', '/pub/x', { headers: { connection: 'upgrade', upgrade: 'websocket' } })
  t.equal(denied.status, 400)
  t.match(denied.body, /upgrades to another protocol/)
})

t.test('a denied call has the response of the proxy', async (t) => {
  const { ask, gateway } = await start(t)
  for (const [method, path, token] of [
    ['GET', '/api/challenged', undefined],
    ['GET', '/api/denied', undefined],
    ['GET', '/api/courses', 'narrow'],
    ['GET', '/api/courses', 'unknown'],
    ['GET', '/api/recent', 'old'],
    ['GET', '/nothing', undefined],
    ['DELETE', '/api/courses', undefined],
  ] as const) {
    const direct = await send(`${gateway.url}${path}`, { method, token })
    const decided = await ask(method, path, {}, token)
    t.equal(decided.status, direct.status, path)
    for (const name of ['www-authenticate', 'allow', 'content-type', 'cache-control', 'x-scopegate-error'])
      t.equal(decided.headers.get(name), direct.headers.get(name), `${path} ${name}`)
    t.same({ ...JSON.parse(decided.body), request_id: '' }, { ...direct.json, request_id: '' }, path)
  }
})

t.test('a preflight gets the response of the proxy, and an allowed call has its CORS headers', async (t) => {
  const { ask, gateway, upstream } = await start(t)
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'GET' }
  const direct = await send(`${gateway.url}/api/courses`, { method: 'OPTIONS', headers })
  const decided = await ask('OPTIONS', '/api/courses', { headers })
  t.equal(decided.status, 204)
  for (const name of ['access-control-allow-origin', 'access-control-allow-methods', 'allow', 'vary'])
    t.equal(decided.headers.get(name), direct.headers.get(name), name)
  t.equal(decided.headers.get('access-control-allow-origin'), '*')
  const allowed = await ask('GET', '/api/courses', { headers: { origin: 'https://app.example' } }, 'good')
  t.equal(allowed.headers.get('access-control-allow-origin'), '*')
  t.match(allowed.headers.get('access-control-expose-headers'), /WWW-Authenticate/)
  const listed = await ask('GET', '/api/listed', { headers: { origin: 'https://app.example' } }, 'good')
  t.equal(listed.headers.get('vary'), 'Origin')
  t.equal(upstream.requests.length, 0)
})

t.test('Envoy removes the headers that only the gateway may set, in any spelling', async (t) => {
  const { ask } = await start(t)
  const forged = {
    'x-auth-subject': 'root',
    x_auth_scope: 'courses:write',
    'x-auth-claim-tenant': 'root',
    'x-original-uri': '/pub/x',
    'x-forwarded-uri': '/pub/x',
    'x-http-method-override': 'DELETE',
    cookie: 'session=root',
    dpop: 'proof',
    'x-forwarded-for': '192.0.2.7',
    'x-request-id': 'id-1',
    'x-debug': '1',
  }
  const removed = [
    'cookie',
    'dpop',
    'x-auth-claim-tenant',
    'x-forwarded-uri',
    'x-http-method-override',
    'x-original-uri',
    'x_auth_scope',
  ]
  const allowed = await ask('GET', '/api/courses', { headers: forged }, 'good')
  t.equal(allowed.upstream.get('x-auth-subject'), 'user-1')
  t.same([...allowed.removed].sort(), ['authorization', ...removed])
  t.equal(allowed.headers.get('x-request-id'), 'id-1')
  const anonymous = await ask('GET', '/pub/x', { headers: forged })
  t.same([...anonymous.removed].sort(), [...removed, 'x-auth-subject'].sort())
  const forwarded = await ask('GET', '/api/trusted', { headers: { cookie: 'a=1' } }, 'good')
  t.same(forwarded.removed, [], 'the upstream gets the credentials')
})

t.test('a subject that is the name of a header keeps no forged header', async (t) => {
  const { ask, issuer } = await start(t)
  issuer.store('odd', { sub: 'x_auth_scope', client_id: 'c', scope: 'courses:read' })
  const allowed = await ask('GET', '/api/courses', { headers: { x_auth_scope: 'root' } }, 'odd')
  t.ok(allowed.removed.includes('x_auth_scope'))
})

t.test('a DPoP proof is verified against the original method and URL', async (t) => {
  const { ask, issuer } = await start(t)
  const key = aProofKey()
  issuer.store('bound', { scope: 'courses:write', cnf: { jkt: key.thumbprint } })
  const decide = (method: string, path: string) =>
    ask('POST', '/api/courses', {
      headers: {
        authorization: 'DPoP bound',
        dpop: aProof({ key, url: `${BASE_URL}${path}`, method, token: 'bound' }),
      },
    })
  t.equal((await decide('POST', '/api/courses')).status, 200)
  t.equal((await decide('GET', '/api/courses')).status, 401)
  t.equal((await decide('POST', '/')).status, 401)
})

t.test(
  'the client address is the peer of Envoy, or the client of a trusted proxy before Envoy',
  async (t) => {
    const { ask } = await start(t, ['127.0.0.1', '198.51.100.0/24'])
    const limited = (source: string, forwarded: string) =>
      ask('GET', '/api/limited', { source, headers: { 'x-forwarded-for': forwarded } })
    t.equal((await limited('192.0.2.1', '203.0.113.1')).status, 200)
    const second = await limited('192.0.2.1', '203.0.113.2')
    t.equal(second.status, 429, 'a client cannot choose its address')
    t.ok(second.headers.get('retry-after'))
    t.equal((await limited('198.51.100.7', '203.0.113.1, 192.0.2.2')).status, 200)
    t.equal((await limited('198.51.100.8', '203.0.113.3, 192.0.2.2')).status, 429)
  },
)

t.test('a certificate-bound token is valid only with the certificate of the client of Envoy', async (t) => {
  const endpoint = await startDecisionEndpoint(t, 'ext-authz-grpc', {
    change: (config) => ({
      ...config,
      clientCertificateHeader: { name: 'x-forwarded-client-cert', format: 'xfcc' },
    }),
  })
  const client = await openCheckClient(t, endpoint.decisions)
  const hash = randomBytes(32)
  endpoint.issuer.store('bound', {
    scope: 'courses:read',
    cnf: { 'x5t#S256': hash.toString('base64url') },
  })
  const decide = async (certificate: string | undefined) => {
    const headers = {
      authorization: 'Bearer bound',
      ...(certificate && { 'x-forwarded-client-cert': certificate }),
    }
    return (await client.check({ method: 'GET', path: '/api/courses', host: 'api.test', headers })).status
  }
  t.equal(await decide(`Hash=${hash.toString('hex')}`), 200)
  t.equal(await decide(`Hash=${randomBytes(32).toString('hex')}`), 401)
  t.equal(await decide(undefined), 401)
})

t.test('missing, repeated and ambiguous data of the original request opens no route', async (t) => {
  const { client } = await start(t)
  const good = { method: 'GET', path: '/pub/x', host: 'api.test' }
  t.equal((await client.check(good)).status, 200)
  for (const original of [
    { path: '/pub/x', host: 'api.test' },
    { method: 'GET', host: 'api.test' },
    { method: 'GET', path: '/pub/x' },
    { ...good, method: 'get' },
    { ...good, method: 'NOPE' },
    { ...good, path: 'http://api.test/pub/x' },
    { ...good, path: '*', method: 'OPTIONS' },
    { ...good, path: '/pub/x#y' },
    { ...good, path: '/pub/%252e%252e/../api/denied' },
    { ...good, path: '/pub//x' },
    { ...good, host: 'api.test/pub' },
    { ...good, rawHeaders: [['host', 'other.test']] as const },
    { ...good, source: '' },
    { ...good, source: '@socket' },
    { ...good, body: 'text' },
    { ...good, headers: { 'x bad': '1' } },
    { ...good, headers: { 'x-bad': 'a\r\nb' } },
    { ...good, headers: { '': '1' } },
  ]) {
    const denied = await client.check(original)
    t.equal(denied.status, 400, JSON.stringify(original))
    t.equal(JSON.parse(denied.body).error, 'invalid_request')
    t.ok(denied.headers.get('x-request-id'))
  }
})

t.test('a target whose bytes Envoy replaced is rejected', async (t) => {
  const { ask } = await start(t)
  const decide = async (path: string, rawHeaders?: Original['rawHeaders']) =>
    (await ask('GET', path, rawHeaders === undefined ? {} : { rawHeaders })).status
  const open = '/pub/!!!!!!/api/denied'
  t.equal(await decide(open, [[':path', '/pub/\xc0\xae\xc0\xae\xc0\xaf/api/denied']]), 400)
  t.equal(await decide('/pub/x?a=!', [[':path', '/pub/x?a=\xff']]), 400)
  t.equal(await decide('/pub/x', [[':method', 'DELETE']]), 400)
  t.equal(await decide('/pub/x', [[':authority', 'other.test']]), 400)
  t.equal(await decide(open, [['accept', '*/*']]), 400, 'without the bytes of the client')
  t.equal(await decide(open), 400, 'without the headers of the client')
  t.equal(await decide(open, [[':path', open]]), 200, 'the client sent exclamation marks')
  t.equal(await decide('/pub/%21?a=!'), 200)
  t.equal(await decide('/pub/x', [['constructor', 'a']]), 200, 'the name of a member of each object')
})

t.test('the body that Envoy forwards has no effect on the decision', async (t) => {
  const { ask } = await start(t)
  for (const headers of [{ 'content-length': '3000000' }, { 'transfer-encoding': 'chunked' }]) {
    const allowed = await ask('POST', '/api/small', { headers })
    t.equal(allowed.status, 200)
    t.same(allowed.removed, [])
  }
})

t.test('two tokens, joined or as two headers, are rejected', async (t) => {
  const { ask } = await start(t)
  const joined = await ask('GET', '/api/courses', { headers: { authorization: 'Bearer good,Bearer good' } })
  t.equal(joined.status, 401)
  const rawHeaders = [
    ['authorization', 'Bearer good'],
    ['authorization', 'Bearer good'],
  ] as const
  t.equal((await ask('GET', '/api/courses', { rawHeaders })).status, 400)
  const one = await ask('GET', '/api/courses', { rawHeaders: rawHeaders.slice(0, 1) })
  t.equal(one.status, 200)
})

t.test('a peer outside trustedProxies gets no decision', async (t) => {
  const { ask, client, decisions } = await start(t, ['192.0.2.1'])
  const closed = once(client.session, 'close')
  const denied = await ask('GET', '/pub/x')
  t.equal(denied.status, 400)
  t.match(denied.body, /trustedProxies/)
  await closed
  const other = await openCheckClient(t, decisions)
  const unfinished = other.session.request(CALL)
  t.ok(
    await once(
      unfinished.on('error', () => undefined),
      'response',
    ),
    'the gateway reads no message of this peer',
  )
})

t.test('bytes that are not a call get an error or a denial, and the connection stays usable', async (t) => {
  const { client, ask, logText } = await start(t)
  const good = client.encode({ method: 'GET', path: '/pub/x', host: 'api.test' })
  const message = good.subarray(5)
  const append = (...bytes: readonly number[]): Buffer => frame(Buffer.concat([message, Buffer.from(bytes)]))
  const unknownFields = append(0x7a, 1, 0, 0x79, ...Buffer.alloc(8), 0x7d, 1, 2, 3, 4)
  t.notMatch((await client.raw(unknownFields)).bytes.toString('latin1'), 'invalid_request')
  for (const [what, bytes, detail] of [
    ['no message', Buffer.alloc(0), 'exactly one message'],
    ['a truncated prefix', good.subarray(0, 4), 'exactly one message'],
    ['a truncated message', good.subarray(0, good.length - 1), 'exactly one message'],
    ['bytes after the message', Buffer.concat([good, Buffer.from([0x7a, 0])]), 'exactly one message'],
    ['an unknown flag', Buffer.concat([Buffer.from([2]), good.subarray(1)]), 'exactly one message'],
    ['a field after the end', append(0x7a, 0x7f), 'a field is truncated'],
    ['a truncated number', append(0x7d, 1), 'a field is truncated'],
    ['an endless varint', append(...Buffer.alloc(20, 0xff)), 'a varint is truncated or too long'],
    ['a truncated varint', append(0x78, 0x80), 'a varint is truncated or too long'],
    ['a group', append(0x7b, 0x7c), 'wire type 3'],
    ['the field number 0', append(0x02, 0x00), 'number 0'],
    ['two attributes', frame(Buffer.concat([message, message])), 'the field 1 is repeated'],
    ['a number in place of a message', frame(Buffer.from([0x08, 0x01])), 'the field 1 is a number'],
    ['an empty message', frame(Buffer.alloc(0)), 'source.address'],
  ] as const) {
    const { grpcStatus, bytes: answer } = await client.raw(bytes)
    t.equal(grpcStatus, 0, what)
    t.match(answer.toString('latin1'), 'invalid_request', what)
    t.match(answer.toString('latin1'), detail, what)
  }
  t.equal(
    (await client.raw(Buffer.concat([Buffer.from([1]), good.subarray(1)]))).grpcStatus,
    12,
    'compressed',
  )
  t.equal((await client.raw(good, { ':path': '/grpc.health.v1.Health/Check' })).grpcStatus, 12)
  t.equal((await client.raw(good, { 'content-type': 'application/json' })).httpStatus, 415)
  t.equal((await client.raw(good, { ':method': 'PUT' })).httpStatus, 415)
  t.equal((await ask('GET', '/pub/x')).status, 200)
  await until('the access log has the denials', async () => logText().includes('"request_malformed"'))
})
