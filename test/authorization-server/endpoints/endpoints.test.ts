import t from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { makePkce } from '../../fixtures/register-client.ts'
import { type Answer, type Message, send } from '../../fixtures/send.ts'
import { sendExactly } from '../../fixtures/send-exactly.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const url = (path: string): string => `${server.baseUrl}${path}`
const redirectUri = 'http://127.0.0.1:49152/callback'
const register = (overrides: object = {}): Promise<Answer> =>
  send(url(ENDPOINTS.registration), { json: { redirect_uris: [redirectUri], ...overrides } })

t.test(
  'an unknown path, and a path in another case or with a trailing slash, gets 404 in JSON',
  async (t) => {
    for (const path of [
      '/api/oauth',
      '/api/oauth/',
      '/api/oauth/x',
      '/api/oauth/TOKEN',
      '/API/oauth/token',
      '/api/oauth/token/',
      '/api/oauth//token',
      '/oauth/AUTHORIZE',
      '/oauth/authorize/a/b',
      '/.well-known/OAuth-Authorization-Server',
      '/.well-known/oauth-authorization-server/mcp',
      '/auth', // this path and the next paths are defaults of the engine
      '/token',
      '/reg',
      '/jwks',
      '/session/end',
    ])
      for (const method of ['GET', 'POST']) {
        const answer = await send(url(path), { method })
        t.equal(answer.status, 404, `${method} ${path}`)
        t.match(answer.json, { error: 'not_found', error_description: /\S/ }, path)
      }
  },
)

t.test('an unsupported method gets 405 in JSON with Allow', async (t) => {
  const cases: readonly [string, string, string][] = [
    ['GET', ENDPOINTS.token, 'POST, OPTIONS'],
    ['PUT', ENDPOINTS.registration, 'POST, OPTIONS'],
    ['DELETE', ENDPOINTS.userinfo, 'GET, HEAD, POST, OPTIONS'],
    ['POST', ENDPOINTS.authorization, 'GET'],
    ['HEAD', ENDPOINTS.authorization, 'GET'],
    ['OPTIONS', ENDPOINTS.authorization, 'GET'],
    ['POST', ENDPOINTS.jwks, 'GET, HEAD, OPTIONS'],
  ]
  for (const [method, path, allow] of cases) {
    const answer = await send(url(path), { method })
    t.equal(answer.status, 405, `${method} ${path}`)
    t.equal(answer.headers.get('allow'), allow)
    if (method !== 'HEAD') t.match(answer.json, { error: 'method_not_allowed' })
  }
})

t.test('invalid HTTP, an undecodable path and oversized headers are rejected with JSON', async (t) => {
  const raw = (target: string, headers: string[] = []) => sendExactly(server.baseUrl, target, { headers })
  t.match(await raw('/oauth/%zz'), { status: 400, json: { error: 'invalid_request' } })
  t.match(await raw(`/oauth/authorize?state=${'x'.repeat(20_000)}`), {
    status: 431,
    json: { error: 'invalid_request' },
  })
  t.match(await raw('/api/oauth/jwks', ['x-long', 'x'.repeat(20_000)]), { status: 431 })
})

t.test('URLs in documents use the issuer and ignore Host and forwarded headers', async (t) => {
  const answer = await sendExactly(server.baseUrl, ENDPOINTS.authorizationServerMetadata, {
    headers: ['host', 'evil.example', 'x-forwarded-host', 'evil.example', 'x-forwarded-proto', 'https'],
  })
  t.equal(answer.status, 200)
  t.notMatch(answer.text, /evil|https/)
  t.equal(answer.json['token_endpoint'], url(ENDPOINTS.token))
})

t.test('RFC 8414 §3.2 both discovery documents are complete and equal', async (t) => {
  const [oauth, openid] = await Promise.all([
    send(url(ENDPOINTS.authorizationServerMetadata)),
    send(url(ENDPOINTS.openidConfiguration)),
  ])
  t.same(oauth?.json, openid?.json)
  t.match(oauth?.json, {
    issuer: server.baseUrl,
    authorization_endpoint: url('/oauth/authorize'),
    token_endpoint: url('/api/oauth/token'),
    registration_endpoint: url('/api/oauth/register'),
    userinfo_endpoint: url('/api/oauth/userinfo'),
    revocation_endpoint: url('/api/oauth/revoke'),
    introspection_endpoint: url('/api/oauth/introspect'),
    jwks_uri: url('/api/oauth/jwks'),
    pushed_authorization_request_endpoint: url('/api/oauth/par'),
    service_documentation: url('/auth.md'),
    ui_locales_supported: ['en', 'de'],
    protected_resources: [server.baseUrl],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
  })
  const scopes = oauth?.json['scopes_supported'] as string[]
  t.equal(scopes.length, 38)
  t.same(scopes.slice(0, 4), ['openid', 'profile', 'email', 'courses:read'])
  t.notOk('agent_auth' in (oauth?.json ?? {}))
  const algorithms = oauth?.json['id_token_signing_alg_values_supported'] as string[]
  t.ok(algorithms.includes('RS256'), 'OpenID Connect Discovery 1.0 §3: RS256 MUST be included')
})

t.test('documents are cacheable and can be revalidated, also with HEAD', async (t) => {
  for (const path of [ENDPOINTS.authorizationServerMetadata, ENDPOINTS.openidConfiguration, ENDPOINTS.jwks]) {
    const answer = await send(url(path))
    t.equal(answer.headers.get('cache-control'), 'public, max-age=300')
    t.equal(answer.headers.get('access-control-allow-origin'), '*')
    t.notOk(answer.headers.has('set-cookie'))
    const etag = answer.headers.get('etag') ?? ''
    t.equal((await send(url(path), { headers: { 'if-none-match': etag } })).status, 304)
    const head = await send(url(path), { method: 'HEAD' })
    t.equal(head.status, 200)
    t.equal(head.headers.get('etag'), etag)
    t.equal(head.text, '')
  }
})

t.test('jwks contains only public members, ES256 first', async (t) => {
  const { json } = await send(url(ENDPOINTS.jwks))
  const keys = json['keys'] as Record<string, unknown>[]
  t.same(
    keys.map((key) => key['alg']),
    ['ES256', 'Ed25519', 'RS256'],
  )
  for (const key of keys)
    for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']) t.notOk(name in key, name)
})

t.test('CORS headers are present on API endpoints and absent on sign-in pages', async (t) => {
  const open = [
    ENDPOINTS.token,
    ENDPOINTS.registration,
    ENDPOINTS.revocation,
    ENDPOINTS.userinfo,
    ENDPOINTS.introspection,
  ]
  const origin = { origin: 'https://app.example' }
  for (const path of open) {
    const preflight = await send(url(path), {
      method: 'OPTIONS',
      headers: { ...origin, 'access-control-request-method': 'POST' },
    })
    t.equal(preflight.status, 204, path)
    t.equal(preflight.headers.get('access-control-allow-origin'), '*')
    t.match(preflight.headers.get('access-control-allow-headers'), /authorization, content-type/)
    t.notOk(preflight.headers.has('access-control-allow-credentials'))
    const rejected = await send(url(path), {
      method: path === ENDPOINTS.userinfo ? 'GET' : 'POST',
      headers: origin,
    })
    t.ok(rejected.status >= 400)
    t.equal(rejected.headers.get('access-control-allow-origin'), '*')
    t.match(rejected.headers.get('access-control-expose-headers'), /WWW-Authenticate/)
  }
  const authorize = await send(url(ENDPOINTS.authorization), { headers: origin })
  t.notOk(authorize.headers.has('access-control-allow-origin'))
})

t.test('keeps the request ID of the gateway and replaces any other value', async (t) => {
  const kept = await send(url(ENDPOINTS.jwks), { headers: { 'x-request-id': 'abc-123_DEF' } })
  t.equal(kept.headers.get('x-request-id'), 'abc-123_DEF')
  const replaced = await send(url(ENDPOINTS.jwks), { headers: { 'x-request-id': '"><script>' } })
  t.match(replaced.headers.get('x-request-id'), /^[\w-]{36}$/)
})

t.test(
  'registration: an oversized body gets 413, and another invalid body gets 4xx without a stack trace',
  async (t) => {
    const large = await register({ client_name: 'x'.repeat(17_000) })
    t.equal(large.status, 413)
    t.match(large.json, { error: 'invalid_request' })
    const chunked = await fetch(url(ENDPOINTS.registration), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
      body: new Blob(['{"client_name":"', 'x'.repeat(17_000), '"}']).stream(),
    } as RequestInit)
    t.equal(chunked.status, 413)
    await chunked.body?.cancel()
    for (const message of [{ body: '{', headers: json() }, { form: { a: 'b' } }, { json: [] }] as Message[])
      t.match(await send(url(ENDPOINTS.registration), { method: 'POST', ...message }), {
        status: 400,
        json: { error: 'invalid_request' },
      })
  },
)

t.test(
  'registration: a public client gets no secret, and a confidential client gets its secret once',
  async (t) => {
    const open = await register({ client_name: 'An app' })
    t.equal(open.status, 201)
    t.equal(open.headers.get('cache-control'), 'no-store')
    t.match(open.json, {
      client_id: /^[\w-]{20,}$/,
      client_name: 'An app',
      application_type: 'native',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    })
    t.notOk('client_secret' in open.json)
    t.notOk('registration_access_token' in open.json)

    const confidential = await register({ token_endpoint_auth_method: 'client_secret_post' })
    const secret = String(confidential.json['client_secret'])
    server.secret(secret) // at its end, the test searches the log for the secret
    t.match(confidential.json, { client_secret: /^[\w-]{43,}$/, client_secret_expires_at: 0 })
    const known = { client_id: String(confidential.json['client_id']), grant_type: 'refresh_token' }
    const ask = (client_secret: string) =>
      send(url(ENDPOINTS.token), { form: { ...known, client_secret, refresh_token: 'x' } })
    t.match(await ask(secret), { status: 400, json: { error: 'invalid_grant' } })
    t.match(await ask(`${secret}x`), { status: 401, json: { error: 'invalid_client' } })
  },
)

t.test('token: rejects HTTP Basic with a Basic challenge, also with the correct secret', async (t) => {
  const answer = await send(url(ENDPOINTS.token), {
    form: { grant_type: 'refresh_token', refresh_token: 'x' },
    headers: { authorization: `Basic ${btoa(`gateway:${server.gatewaySecret}`)}` },
  })
  t.match(answer, { status: 401, json: { error: 'invalid_client', error_description: /client_secret_post/ } })
  t.match(answer.headers.get('www-authenticate'), /^Basic realm=/)
})

t.test('introspection: rejects every request without a valid secret', async (t) => {
  const client = await register()
  for (const form of [
    { token: 'x' },
    { token: 'x', client_id: 'gateway' },
    { token: 'x', client_id: String(client.json['client_id']) },
    { token: 'x', client_id: 'gateway', client_secret: 'wrong' },
  ]) {
    const answer = await send(url(ENDPOINTS.introspection), { form })
    t.match(answer, { status: 401, json: { error: 'invalid_client' } })
    t.notOk(answer.headers.has('www-authenticate'), 'no challenge for credentials in the form')
  }
  const gateway = { client_id: 'gateway', client_secret: server.gatewaySecret }
  for (const token of ['x', 'a.b.c', '\u0000', 'é'])
    t.same(
      (await send(url(ENDPOINTS.introspection), { form: { ...gateway, token } })).json,
      { active: false },
      token,
    )
})

t.test(
  'authorize: reports an error as a page for browsers and as JSON for other clients, without redirect',
  async (t) => {
    const { challenge } = makePkce()
    const client = await register({ client_name: 'An app' })
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: String(client.json['client_id']),
      redirect_uri: 'http://127.0.0.1:49152/other',
      scope: 'openid',
      state: 'a-state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const page = await send(url(`${ENDPOINTS.authorization}?${query}`), { headers: { accept: 'text/html' } })
    t.equal(page.status, 400)
    t.notOk(page.headers.has('location'))
    t.match(page.headers.get('content-type'), /^text\/html/)
    t.match(page.headers.get('content-security-policy'), /default-src 'none'/)
    t.match(page.text, page.headers.get('x-request-id') ?? 'no request id')
    const plain = await send(url(`${ENDPOINTS.authorization}?${query}`))
    t.match(plain, {
      status: 400,
      json: { error: 'invalid_redirect_uri', error_description: /redirect_uri/ },
    })
  },
)

t.test('§7.3 of RFC 8252: only the port of the loopback redirect may differ', async (t) => {
  const { challenge } = makePkce()
  const client = await register()
  const ask = (redirect_uri: string) => {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: String(client.json['client_id']),
      redirect_uri,
      scope: 'openid',
      state: 'a-state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    return send(url(`${ENDPOINTS.authorization}?${query}`))
  }
  const accepted = [redirectUri, 'http://127.0.0.1:1/callback', 'http://127.0.0.1:65535/callback']
  for (const uri of accepted) {
    const answer = await ask(uri)
    t.equal(answer.status, 303, uri)
    t.match(answer.headers.get('location'), /^\/oauth\/interaction\/[\w-]+$/)
  }
  const rejected = [
    'http://127.0.0.1:49152/callback/',
    'http://127.0.0.1:49152/Callback',
    'http://127.0.0.1:49152/callback?a=b',
    'http://127.0.0.1:49152/callback#x',
    'http://127.0.0.1:49152/a/../callback',
    'http://127.0.0.1:49152/%63allback',
    'http://localhost:49152/callback',
    'http://[::1]:49152/callback',
    'http://127.0.0.2:49152/callback',
    'http://127.0.0.1.evil.example:49152/callback',
    'http://user@127.0.0.1:49152/callback',
    'http://127.0.0.1:49152@evil.example/callback',
    'https://127.0.0.1:49152/callback',
    'HTTP://127.0.0.1:49152/callback',
    'http://127.0.0.1:0/callback',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:049152/callback',
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.1:999999/callback',
    'http://2130706433:49152/callback',
    'http://0x7f.0.0.1:49152/callback',
    'http://0177.0.0.1:49152/callback',
    'http://127.1:49152/callback',
    'http://127.0.0.1.:49152/callback',
    'http://[::ffff:127.0.0.1]:49152/callback',
    'http:\\\\127.0.0.1:49152\\callback',
    'http://evil.example\\@127.0.0.1:49152/callback',
    'http://127.0.0.1:49152/callback\u0000',
    ' http://127.0.0.1:49152/callback',
    'http://127.0.0.1:x/callback',
    '//127.0.0.1:49152/callback',
    'javascript:alert(1)',
  ]
  for (const uri of rejected) {
    const answer = await ask(uri)
    t.match(answer, { status: 400, json: { error: 'invalid_redirect_uri' } }, uri)
    t.notOk(answer.headers.has('location'), uri)
  }
})

t.test('client input does not increase the number of metric series', async (t) => {
  const series = async () => {
    const { text } = await send(`${server.managementUrl}/metrics`)
    return text.split('\n').filter((line) => line.startsWith('scopegate_oauth_requests_total')).length
  }
  const ask = (index: number) =>
    send(url(ENDPOINTS.token), {
      form: { grant_type: `grant-${index}`, client_id: `client-${index}`, code: `code-${index}` },
    })
  await ask(0)
  const before = await series()
  for (let index = 1; index < 50; index++) await ask(index)
  t.equal(await series(), before)
  const { text } = await send(`${server.managementUrl}/metrics`)
  t.match(
    text,
    /scopegate_oauth_requests_total\{endpoint="token",grant_type="-",result="invalid_client"\} \d/,
  )
  t.match(text, /scopegate_build_info\{service="authorization-server",version="[^"]+",node="v[^"]+"\} 1/)
  t.match(text, /process_cpu_seconds_total/)
})

function json(): Record<string, string> {
  return { 'content-type': 'application/json' }
}
