// Before the fix, the authorization server rejected the introspection of every JWT with 400. The gateway treated this
// response as an outage, and sent 503.
import { generateKeyPairSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { macJws, signJws } from '../fixtures/jws.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { parseObject, send } from '../fixtures/send.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)
const { idToken = '' } = await client.obtainTokens({
  browser: openBrowser(server.baseUrl),
  scope: 'openid courses:read',
})

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const claims = { iss: server.baseUrl, sub: 'admin', exp: 9_999_999_999 }
const JWT_SHAPED: Readonly<Record<string, string>> = {
  'an ID token': idToken,
  'a forged access token': signJws({ alg: 'ES256', typ: 'at+jwt' }, claims, privateKey),
  'an access token with a wrong signature': `${idToken.slice(0, -6)}AAAAAA`,
  'an HS256 token': macJws({ alg: 'HS256', typ: 'at+jwt' }, claims, 'secret'),
}

t.test('RFC 7662 section 2.2: introspection reports every unknown token as inactive', async (t) => {
  const garbage: Readonly<Record<string, string>> = {
    ...JWT_SHAPED,
    'a JWT header alone': 'eyJhbGciOiJub25lIn0',
    'a JWT without signature': 'eyJhbGciOiJub25lIn0.e30.',
    'a JWE': `${Buffer.from('{"alg":"dir","enc":"A128GCM"}').toString('base64url')}..a.b.c`,
    'JSON text': '{"alg":"none"}',
    'a NUL byte': 'a\u0000b',
    'text outside ASCII': 'tökén\u{1f600}',
    'a path': '../../etc/passwd',
    'a property name': '__proto__',
    'a long text': 'x'.repeat(20_000),
    'a long JWT': `eyJhbGciOiJub25lIn0.${'e30'.repeat(6_000)}.a`,
  }
  for (const [what, token] of Object.entries(garbage))
    for (const accept of ['application/json', 'text/html']) {
      const answer = await introspect(server, token, { accept })
      t.equal(answer.status, 200, `${what}, ${accept}`)
      t.equal(answer.text, '{"active":false}', what)
      t.match(answer.headers.get('content-type'), /^application\/json/, what)
      t.equal(answer.headers.get('cache-control'), 'no-store', what)
    }
  t.notOk(
    server.log().some(({ event }) => event === 'refused' || event === 'failed'),
    'no request was rejected',
  )
  const metrics = await (await fetch(`${server.managementUrl}/metrics`)).text()
  t.match(metrics, /scopegate_oauth_requests_total\{[^}]*endpoint="introspection"[^}]*result="ok"/)
  t.notMatch(metrics, /unsupported_token_type/)
})

t.test('introspection of a JWT still requires client authentication', async (t) => {
  for (const secret of ['wrong', ''])
    for (const token of Object.values(JWT_SHAPED)) {
      const answer = await introspect(server, token, {}, secret)
      t.match(answer, { status: 401, json: { error: 'invalid_client' } })
    }
})

t.test('the gateway rejects a JWT of the bundled issuer with 401 and introspects it once', async (t) => {
  const under = await startGateway(t)
  for (const [what, token] of Object.entries(JWT_SHAPED)) {
    for (let count = 0; count < 5; count++) {
      const response = await call(under, token)
      t.equal(response.status, 401, what)
      t.match(response.headers.get('www-authenticate'), /^Bearer error="invalid_token"/, what)
      t.equal(response.headers.get('retry-after'), null, what)
      t.equal(parseObject(await response.text())['error'], 'invalid_token', what)
    }
  }
  const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  const counts = metrics.split('\n').filter((line) => line.startsWith('scopegate_introspections_total{'))
  t.same(counts, [
    `scopegate_introspections_total{issuer="${server.baseUrl}",result="answered"} ${Object.keys(JWT_SHAPED).length}`,
  ])
  t.notOk(under.log().some(({ level }) => level !== 'info'))
  t.notOk(under.log().some(({ event }) => event === 'introspection_failed'))
})

t.test('a client cannot cause an outage with a token that the issuer rejects with 400', async (t) => {
  const under = await startGatewayUnderTest(t, { change: askOnce })
  under.issuer.answerWith((response, body) => {
    const isCrafted = body.get('token')?.startsWith('crafted') === true
    response.writeHead(isCrafted ? 400 : 200, { 'content-type': 'application/json' })
    response.end(isCrafted ? '{"error":"invalid_request"}' : '{"active":false}')
  })
  for (let count = 0; count < 50; count++) {
    const response = await call(under, `crafted.${count % 10}`)
    t.equal(response.status, 401)
    t.match(response.headers.get('www-authenticate'), /^Bearer error="invalid_token"/)
  }
  t.equal((await call(under, 'another')).status, 401, 'the circuit is closed')
  const asked = under.issuer.asked.map((body) => body.get('token'))
  for (let count = 0; count < 10; count++)
    t.equal(asked.filter((token) => token === `crafted.${count}`).length, 2, 'cached as a negative result')
  t.notOk(under.log().some(({ level }) => level !== 'info'))
  const readiness = await fetch(`${under.gateway.managementUrl}/readyz?verbose`)
  t.notMatch(await readiness.text(), /degraded/)
})

t.test('a malformed token causes 401, and a valid token never causes 401 during an outage', async (t) => {
  const under = await startGatewayUnderTest(t, { change: askOnce })
  const good = under.issuer.store('00112233445566778899aabbccddeeff', { scope: 'courses:read' })
  const alsoGood = under.issuer.store('ffeeddccbbaa99887766554433221100', { scope: 'courses:read' })
  const reject = (response: ServerResponse): void => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_request"}')
  }
  t.equal((await call(under, good)).status, 200)
  under.issuer.answerWith((response, body) => {
    if (!/^[\da-f]{32}$/.test(body.get('token') ?? '')) return reject(response)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"active":false}')
  })
  const rejected = await call(under, 'crafted')
  t.equal(rejected.status, 401)
  t.match(rejected.headers.get('www-authenticate'), /^Bearer error="invalid_token"/)
  t.notOk(under.log().some(({ level }) => level !== 'info'))

  under.issuer.answerWith(reject)
  const unknown = await call(under, alsoGood)
  t.equal(unknown.status, 503)
  t.match(unknown.headers.get('retry-after'), /^\d+$/)
  t.match(
    under.log().filter(({ level }) => level === 'error'),
    [{ event: 'introspection_requests_rejected', err: { message: 'The issuer responded with status 400.' } }],
  )
  const readiness = await fetch(`${under.gateway.managementUrl}/readyz?verbose`)
  t.match(await readiness.text(), /introspection at .*: the issuer rejects the probes of the gateway/)
  under.issuer.answerWith(undefined)
  t.equal((await call(under, alsoGood)).status, 200, 'the outage is not cached')
})

t.test('a valid token gets 200 after one rejected introspection at the end of an outage', async (t) => {
  const under = await startGatewayUnderTest(t, { change: askOnce })
  const good = under.issuer.store('00112233445566778899aabbccddeeff', { scope: 'courses:read' })
  under.issuer.answerWith((response) => {
    under.issuer.answerWith(undefined)
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_request"}')
  })
  for (let count = 0; count < 2; count++) {
    const response = await call(under, good)
    t.equal(response.status, 200)
    t.equal(response.headers.get('www-authenticate'), null)
  }
})

t.test('a valid token gets 503 when the issuer rejects its introspection because of the size', async (t) => {
  const under = await startGatewayUnderTest(t, { change: askOnce })
  const good = under.issuer.store('g'.repeat(4_000), { scope: 'courses:read' })
  for (const status of [413, 414, 431]) {
    under.issuer.answerWith((response, body) => {
      response.writeHead(body.get('token') === good ? status : 200, { 'content-type': 'application/json' })
      response.end('{"active":false}')
    })
    const response = await call(under, good)
    t.equal(response.status, 503)
    t.match(response.headers.get('retry-after'), /^\d+$/)
    t.equal(parseObject(await response.text())['error'], 'upstream_unavailable')
  }
})

function introspect(
  { baseUrl, gatewaySecret }: AuthorizationServer,
  token: string,
  headers: Readonly<Record<string, string>>,
  secret = gatewaySecret,
) {
  return send(`${baseUrl}${ENDPOINTS.introspection}`, {
    headers,
    form: { token, token_type_hint: 'access_token', client_id: 'gateway', client_secret: secret },
  })
}

function startGateway(t: Test): Promise<GatewayUnderTest> {
  return startGatewayUnderTest(t, {
    change: (config) => ({
      ...askOnce(config),
      issuers: config.issuers.map((issuer) => ({
        ...issuer,
        issuer: server.baseUrl,
        introspection: issuer.introspection && {
          ...issuer.introspection,
          endpoint: `${server.baseUrl}${ENDPOINTS.introspection}`,
          clientSecret: server.gatewaySecret,
        },
      })),
    }),
  })
}

/** With a long cache time, the gateway introspects each token only once on a busy machine. */
function askOnce(config: GatewayConfig): GatewayConfig {
  return { ...config, tokenCache: { ...config.tokenCache, negativeTtlMs: 600_000 } }
}

function call({ gateway }: GatewayUnderTest, token: string): Promise<Response> {
  return fetch(`${gateway.url}/api/courses`, { headers: { authorization: `Bearer ${token}` } })
}
