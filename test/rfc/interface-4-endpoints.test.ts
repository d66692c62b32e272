import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { interfaceErrors } from '../fixtures/interface-errors.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Answer, type Parameters as Fields, send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// These tests check docs/interface.md section 4: the endpoints, and the parameters of the authorization request. The
// last tests check RFC 9126 (pushed requests), RFC 9207 (iss) and RFC 7009 (revocation).
const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)
const client = await registerClient(scopegate)
const tokens = await client.obtainTokens({ browser, scope: 'openid profile email' })

t.test('§4 GET /.well-known/oauth-protected-resource returns Protected Resource Metadata', async (t) => {
  const answer = await expectDocument(t, '/.well-known/oauth-protected-resource')
  t.match(answer.json, {
    resource: baseUrl,
    authorization_servers: [baseUrl],
    bearer_methods_supported: ['header'],
    scopes_supported: Array,
    resource_documentation: `${baseUrl}/auth.md`,
  })
})

t.test(
  '§4 GET /.well-known/oauth-authorization-server lists every endpoint, grant type and scope',
  async (t) => {
    const { json } = await expectDocument(t, '/.well-known/oauth-authorization-server')
    t.match(json, {
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/oauth/authorize`,
      token_endpoint: `${baseUrl}/api/oauth/token`,
      registration_endpoint: `${baseUrl}/api/oauth/register`,
      userinfo_endpoint: `${baseUrl}/api/oauth/userinfo`,
      revocation_endpoint: `${baseUrl}/api/oauth/revoke`,
      introspection_endpoint: `${baseUrl}/api/oauth/introspect`,
      jwks_uri: `${baseUrl}/api/oauth/jwks`,
      service_documentation: `${baseUrl}/auth.md`,
      ui_locales_supported: ['en', 'de'],
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      protected_resources: [baseUrl],
    })
    t.same((json['grant_types_supported'] as string[]).toSorted(), ['authorization_code', 'refresh_token'])
    t.same((json['token_endpoint_auth_methods_supported'] as string[]).toSorted(), [
      'client_secret_post',
      'none',
    ])
    t.equal((json['scopes_supported'] as string[]).filter((scope) => scope !== 'offline_access').length, 38)
  },
)

t.test(
  '§4 GET /.well-known/openid-configuration returns the OpenID Connect Discovery document',
  async (t) => {
    const { json } = await expectDocument(t, '/.well-known/openid-configuration')
    t.match(json, {
      issuer: baseUrl,
      subject_types_supported: Array,
      id_token_signing_alg_values_supported: Array,
      code_challenge_methods_supported: ['S256'],
    })
    const { json: plain } = await send(`${baseUrl}/.well-known/oauth-authorization-server`)
    for (const [name, value] of Object.entries(plain))
      t.same(json[name], value, `${name} is the same in both`)
  },
)

t.test('§4 POST /api/oauth/register accepts JSON and returns JSON with client_id', async (t) => {
  const answer = await send(`${baseUrl}/api/oauth/register`, {
    json: {
      client_name: 'Section four',
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1:49152/callback'],
      token_endpoint_auth_method: 'none',
    },
  })
  t.match(answer, { status: 201, json: { client_id: String } })
  t.match(answer.headers.get('content-type'), /^application\/json/)
})

t.test('§4 GET /oauth/authorize redirects to redirect_uri after the consent', async (t) => {
  const redirect = await signIn(browser, client.authorizeUrl('courses:read', makePkce().challenge))
  t.equal(`${redirect.origin}${redirect.pathname}`, client.redirectUri)
  scopegate.secret(redirect.searchParams.get('code') ?? undefined)
})

t.test('§4 POST /api/oauth/token accepts a form and returns a JSON token response', async (t) => {
  const answer = await client.exchange(await client.obtainCode({ browser, scope: 'courses:read' }))
  t.match(answer, { status: 200, json: { access_token: String, refresh_token: String } })
  t.match(answer.headers.get('content-type'), /^application\/json/)
  client.readTokens(answer)
})

t.test('§4 GET /api/oauth/userinfo returns JSON user information for a bearer token', async (t) => {
  const answer = await send(`${baseUrl}/api/oauth/userinfo`, { token: tokens.accessToken })
  const posted = await send(`${baseUrl}/api/oauth/userinfo`, { token: tokens.accessToken, form: {} })
  t.same([posted.status, posted.json], [200, answer.json], 'also with POST')
  t.match(answer, { status: 200, json: { sub: String, name: String, email: /@/ } })
  t.match(answer.headers.get('content-type'), /^application\/json/)
})

t.test(
  '§4 POST /api/oauth/revoke accepts an access or refresh token and the client_id, without a secret',
  async (t) => {
    for (const kind of ['accessToken', 'refreshToken'] as const) {
      const granted = await client.obtainTokens({ browser, scope: 'courses:read' })
      const form = { token: granted[kind], client_id: client.clientId }
      t.equal((await send(`${baseUrl}/api/oauth/revoke`, { form })).status, 200)
      await until(`the access token is inactive after its ${kind} was revoked`, async () => {
        const { status } = await send(`${baseUrl}/api/courses`, { token: granted.accessToken })
        return status === 401
      })
    }
    const unknown = { token: 'no-such-token', client_id: client.clientId }
    t.equal(
      (await send(`${baseUrl}/api/oauth/revoke`, { form: unknown })).status,
      200,
      'RFC 7009 section 2.2',
    )
    const other = await registerClient(scopegate)
    t.ok((await other.revoke(tokens.accessToken)).status < 500)
    const kept = await send(`${baseUrl}/api/oauth/userinfo`, { token: tokens.accessToken })
    t.equal(kept.status, 200, "a client cannot revoke another client's token")
  },
)

t.test('§4 GET /openapi.json returns an OpenAPI description of the API', async (t) => {
  const { json } = await expectDocument(t, '/openapi.json')
  t.match(json, {
    openapi: /^3\./,
    info: { title: String, version: String },
    paths: { '/api/courses': Object },
  })
})

t.test('§4 GET /auth.md returns the authorization walkthrough in Markdown', async (t) => {
  const answer = await expectDocument(t, '/auth.md', /^text\/markdown; charset=utf-8/)
  t.match(answer.text, `${baseUrl}/api/oauth/register`)
})

t.test('§4 response_type is required and must be code', async (t) => {
  await expectRejection(t, { response_type: undefined }, 'invalid_request')
  await expectRejection(t, { response_type: 'token' }, 'unsupported_response_type')
})

t.test('§4 client_id is required and must be registered', async (t) => {
  for (const clientId of [undefined, 'nobody']) await expectPage(t, { client_id: clientId })
})

t.test('§4 redirect_uri is required and must be registered', async (t) => {
  for (const redirectUri of [undefined, 'http://127.0.0.1:49152/other', 'https://app.example/callback'])
    await expectPage(t, { redirect_uri: redirectUri })
})

t.test('§4 scope is required, and spaces separate its scopes', async (t) => {
  await expectRejection(t, { scope: undefined }, 'invalid_request')
  await expectRejection(t, { scope: 'courses:juggle' }, 'invalid_scope')
  const two = await client.obtainTokens({ browser, scope: 'courses:read orders:read' })
  for (const path of ['/api/courses', '/api/orders'])
    t.equal((await send(`${baseUrl}${path}`, { token: two.accessToken })).status, 200)
})

t.test('§4 code_challenge is required', async (t) => {
  await expectRejection(t, { code_challenge: undefined }, 'invalid_request')
})

t.test('§4 code_challenge_method is required and must be S256', async (t) => {
  await expectRejection(t, { code_challenge_method: undefined }, 'invalid_request')
  await expectRejection(t, { code_challenge_method: 'plain' }, 'invalid_request')
})

t.test('§4 state is required and is returned unchanged', async (t) => {
  await expectRejection(t, { state: undefined }, 'invalid_request')
  const state = 'a b+c/d=&é"<'
  const redirect = await signIn(browser, client.authorizeUrl('courses:read', makePkce().challenge, { state }))
  t.equal(redirect.searchParams.get('state'), state)
})

t.test('§4 after the consent, the redirect contains code and iss', async (t) => {
  const { redirect } = await client.obtainCode({ browser, scope: 'courses:read' })
  t.match(redirect.searchParams.get('code'), /^[\w-]{22,}$/)
  t.equal(redirect.searchParams.get('iss'), baseUrl)
})

t.test('§2 of RFC 9126: a pushed request authenticates the client as the token endpoint does', async (t) => {
  const confidential = await registerClient(scopegate, { token_endpoint_auth_method: 'client_secret_post' })
  t.equal((await push({}, confidential)).status, 201)
  for (const overrides of [{ client_secret: undefined }, { client_secret: 'wrong' }, { client_id: 'nobody' }])
    t.match(await push(overrides, confidential), { status: 401, json: { error: 'invalid_client' } })
})

t.test('§2.1 of RFC 9126: a pushed request with request_uri is rejected', async (t) => {
  const { request_uri: requestUri } = (await push()).json
  for (const uri of [String(requestUri), 'https://app.example/request.jwt'])
    t.match(await push({ request_uri: uri }), { status: 400, json: { error: 'request_uri_not_supported' } })
})

t.test('§2.1 of RFC 9126: a pushed request is checked as an authorization request', async (t) => {
  const invalid: readonly [Fields, string][] = [
    [{ redirect_uri: 'http://127.0.0.1:49152/other' }, 'invalid_request'],
    [{ redirect_uri: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ scope: 'courses:juggle' }, 'invalid_scope'],
    [{ scope: undefined }, 'invalid_request'],
    [{ state: undefined }, 'invalid_request'],
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ resource: 'https://elsewhere.example' }, 'invalid_target'],
  ]
  for (const [overrides, error] of invalid)
    t.match(await push(overrides), { status: 400, json: { error, error_description: String } }, error)
  for (const [, error] of invalid) t.match(documentedStatuses(error), '400', error)
})

t.test(
  '§2.2 of RFC 9126: the response has a random request_uri and its lifetime, without caching',
  async (t) => {
    const [first, second] = [await push(), await push()]
    t.match(first, {
      status: 201,
      json: { request_uri: /^urn:ietf:params:oauth:request_uri:[\w-]{22,}$/, expires_in: 60 },
    })
    t.match(first.headers.get('content-type'), /^application\/json/)
    t.match(first.headers.get('cache-control'), 'no-store')
    t.not(first.json['request_uri'], second.json['request_uri'])
  },
)

t.test('§2.2 of RFC 9126: a request_uri works only for the client that pushed the request', async (t) => {
  const other = await registerClient(scopegate)
  const { request_uri: requestUri } = (await push()).json
  const answer = await send(pushedUrl(String(requestUri), other.clientId), {
    headers: { accept: 'text/html' },
  })
  t.equal(answer.status, 400)
  t.notOk(answer.headers.has('location'))
})

t.test('§2.3 of RFC 9126: another method gets 405, and a large request gets 413', async (t) => {
  const got = await send(`${baseUrl}${ENDPOINTS.pushedAuthorizationRequest}`)
  t.match(got, { status: 405, json: { error: 'method_not_allowed' } })
  t.match(got.headers.get('allow'), 'POST')
  t.match(await push({ login_hint: 'x'.repeat(40_000) }), { status: 413, json: { error: 'invalid_request' } })
})

t.test('§4 of RFC 9126: the pushed parameters apply, whatever the query contains', async (t) => {
  const pkce = makePkce()
  const { request_uri: requestUri } = (await push({ code_challenge: pkce.challenge })).json
  const url = pushedUrl(String(requestUri))
  for (const [name, value] of Object.entries({ scope: 'orders:read', state: 'other', prompt: 'none' }))
    url.searchParams.set(name, value)
  const redirect = await signIn(browser, url)
  t.equal(redirect.searchParams.get('state'), 'a-state')
  t.equal(redirect.searchParams.get('iss'), baseUrl)
  const code = redirect.searchParams.get('code') ?? ''
  const answer = await client.exchange({ code, verifier: pkce.verifier })
  t.match(answer, { status: 200, json: { scope: 'courses:read' } })
  client.readTokens(answer)
})

t.test('§4 of RFC 9126: a request_uri is valid once, and an unknown one is rejected', async (t) => {
  const { request_uri: requestUri } = (await push()).json
  const url = pushedUrl(String(requestUri))
  t.ok((await signIn(browser, url)).searchParams.has('code'))
  for (const used of [url, pushedUrl(`${requestUri}x`), pushedUrl('urn:ietf:params:oauth:request_uri:x')]) {
    const answer = await send(used, { headers: { accept: 'application/json' } })
    t.match(answer, { status: 400, json: { error: 'invalid_request_uri' } })
    t.notOk(answer.headers.has('location'))
  }
})

t.test('§5 of RFC 9126: the metadata announces pushed requests without requiring them', async (t) => {
  const { json } = await send(`${baseUrl}${ENDPOINTS.authorizationServerMetadata}`)
  t.equal(json['pushed_authorization_request_endpoint'], `${baseUrl}/api/oauth/par`)
  t.notOk(json['require_pushed_authorization_requests'])
})

t.test('§2 of RFC 9207: every error response of the authorization endpoint contains iss', async (t) => {
  const { challenge } = makePkce()
  const denied = await signIn(browser, client.authorizeUrl('courses:read', challenge), { decision: 'cancel' })
  const { request_uri: requestUri } = (await push({ prompt: 'none' })).json
  const errors: readonly [string, URL][] = [
    ['access_denied', denied],
    ['invalid_scope', await errorOf(client.authorizeUrl('courses:juggle', challenge))],
    ['login_required', await errorOf(client.authorizeUrl('openid', challenge, { prompt: 'none' }))],
    ['login_required', await errorOf(pushedUrl(String(requestUri)))],
  ]
  for (const [error, { searchParams }] of errors) {
    t.equal(searchParams.get('error'), error)
    t.strictSame(searchParams.getAll('iss'), [baseUrl], error)
  }
})

t.test(
  '§2.3 of RFC 9207: iss is the issuer of the metadata, an origin without query and fragment',
  async (t) => {
    const { redirect } = await client.obtainCode({ browser, scope: 'courses:read' })
    const { json } = await send(`${baseUrl}${ENDPOINTS.authorizationServerMetadata}`)
    t.strictSame(redirect.searchParams.getAll('iss'), [json['issuer']])
    t.equal(new URL(String(json['issuer'])).origin, json['issuer'])
  },
)

t.test('§3 of RFC 9207: the metadata announces iss', async (t) => {
  for (const path of [ENDPOINTS.authorizationServerMetadata, ENDPOINTS.openidConfiguration])
    t.equal((await send(baseUrl + path)).json['authorization_response_iss_parameter_supported'], true)
})

t.test('§2 of RFC 7009: a revocation is a POST', async (t) => {
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const answer = await send(`${baseUrl}${ENDPOINTS.revocation}?token=x`, { method })
    t.equal(answer.status, 405, method)
    t.match(answer.headers.get('allow'), 'POST')
  }
})

t.test('§2.1 of RFC 7009: token is required, and occurs once', async (t) => {
  for (const token of [undefined, '', ['a', 'b']])
    t.match(await revoke({ token }), { status: 400, json: { error: 'invalid_request' } })
})

t.test('§2.1 of RFC 7009: the client authenticates as at the token endpoint', async (t) => {
  const confidential = await registerClient(scopegate, { token_endpoint_auth_method: 'client_secret_post' })
  const { accessToken: token } = await confidential.obtainTokens({ browser, scope: 'openid' })
  const credentials = [
    { client_id: 'nobody' },
    { client_id: confidential.clientId },
    { client_id: confidential.clientId, client_secret: 'wrong' },
  ]
  for (const each of credentials)
    t.match(await revoke({ token, ...each }), { status: 401, json: { error: 'invalid_client' } })
  t.match(await revoke({ token, client_id: undefined }), { status: 400, json: { error: 'invalid_request' } })
  t.equal((await userinfo(token)).status, 200, 'the token stays valid')
  t.equal((await confidential.revoke(token)).status, 200)
  t.equal((await userinfo(token)).status, 401)
})

t.test('§2.1 of RFC 7009: a wrong token_type_hint does not prevent the revocation', async (t) => {
  for (const [kind, hint] of [
    ['accessToken', 'refresh_token'],
    ['refreshToken', 'access_token'],
    ['accessToken', 'unknown_type'],
  ] as const) {
    const granted = await client.obtainTokens({ browser, scope: 'openid' })
    t.equal((await revoke({ token: granted[kind], token_type_hint: hint })).status, 200)
    t.equal((await userinfo(granted.accessToken)).status, 401, `${kind} with the hint ${hint}`)
  }
})

t.test('§2.1 of RFC 7009: the revocation of one token ends all tokens of its grant', async (t) => {
  for (const kind of ['accessToken', 'refreshToken'] as const) {
    const granted = await client.obtainTokens({ browser, scope: 'openid' })
    const renewed = client.readTokens(await client.refresh(granted.refreshToken))
    t.equal((await client.revoke(renewed[kind])).status, 200)
    for (const token of [granted.accessToken, renewed.accessToken])
      t.equal((await userinfo(token)).status, 401, `an access token after its ${kind} was revoked`)
    t.match(await client.refresh(renewed.refreshToken), { status: 400, json: { error: 'invalid_grant' } })
  }
})

t.test('§2.1 of RFC 7009: a token of another client stays valid', async (t) => {
  const other = await registerClient(scopegate)
  const granted = await client.obtainTokens({ browser, scope: 'openid' })
  for (const kind of ['accessToken', 'refreshToken'] as const)
    t.match(await other.revoke(granted[kind]), { status: 200, text: '' })
  t.equal((await userinfo(granted.accessToken)).status, 200)
  const renewed = await client.refresh(granted.refreshToken)
  t.equal(renewed.status, 200)
  client.readTokens(renewed)
})

/** Pushes an authorization request for `courses:read`. */
function push(overrides: Fields = {}, by = client): Promise<Answer> {
  const { searchParams } = by.authorizeUrl('courses:read', makePkce().challenge)
  const form = { ...Object.fromEntries(searchParams), client_secret: by.clientSecret, ...overrides }
  return send(`${baseUrl}${ENDPOINTS.pushedAuthorizationRequest}`, { form })
}

/** Returns the authorization request for a pushed request. RFC 9126 section 4. */
function pushedUrl(requestUri: string, clientId = client.clientId): URL {
  const query = new URLSearchParams({ client_id: clientId, request_uri: requestUri })
  return new URL(`${baseUrl}${ENDPOINTS.authorization}?${query}`)
}

/** Sends an authorization request without cookies, and returns the redirect to the client. */
async function errorOf(url: URL): Promise<URL> {
  return new URL((await send(url)).headers.get('location') ?? 'about:blank')
}

function revoke(form: Fields): Promise<Answer> {
  return send(`${baseUrl}${ENDPOINTS.revocation}`, { form: { client_id: client.clientId, ...form } })
}

function userinfo(token: string): Promise<Answer> {
  return send(`${baseUrl}${ENDPOINTS.userinfo}`, { token })
}

/**
 * Every metadata document must be public and cacheable, and have an ETag. HEAD and GET must return the same headers.
 */
async function expectDocument(t: Test, path: string, contentType = /^application\/json/): Promise<Answer> {
  const answer = await send(`${baseUrl}${path}`)
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), contentType)
  t.equal(answer.headers.get('access-control-allow-origin'), '*')
  t.match(answer.headers.get('cache-control'), 'public')
  t.notOk(answer.headers.has('set-cookie'))
  const etag = answer.headers.get('etag')
  t.match(etag, /^(W\/)?"[^"]+"$/)
  t.equal((await send(`${baseUrl}${path}`, { headers: { 'if-none-match': etag ?? '' } })).status, 304)
  const head = await send(`${baseUrl}${path}`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.text, '')
  const foreign = await send(`${baseUrl}${path}`, { headers: { 'x-forwarded-host': 'evil.example' } })
  t.equal(foreign.text, answer.text, 'no request header changes the document')
  return answer
}

/** The server must redirect to the client with an error, the state and the `iss` of the server. */
async function expectRejection(t: Test, overrides: Fields, error: string): Promise<void> {
  const answer = await authorize(overrides)
  const location = new URL(answer.headers.get('location') ?? 'about:blank')
  t.equal(`${location.origin}${location.pathname}`, client.redirectUri, answer.text.slice(0, 300))
  // RFC 6749 section 4.2.2.1: for a request for an access token (`response_type=token`), the fragment contains the
  // response.
  const parameters =
    location.search === '' ? new URLSearchParams(location.hash.slice(1)) : location.searchParams
  t.equal(parameters.get('error'), error)
  t.equal(parameters.get('iss'), baseUrl)
  t.match(documentedStatuses(error), 'redirect', `section 7.4: ${error}`)
}

/** Returns the statuses of a code in section 7.4 of docs/interface.md. */
function documentedStatuses(error: string): string {
  return interfaceErrors()
    .filter(([code]) => code === error)
    .map(([, statuses]) => statuses)
    .join(', ')
}

/** The server must show an error page and must not redirect. A redirect could send the response to an attacker. */
async function expectPage(t: Test, overrides: Fields): Promise<void> {
  const answer = await authorize(overrides)
  t.equal(answer.status, 400)
  t.match(answer.headers.get('content-type'), /^text\/html/)
  t.notOk(answer.headers.has('location'))
}

function authorize(overrides: Fields): Promise<Answer> {
  const url = client.authorizeUrl('courses:read', makePkce().challenge, overrides)
  t.equal(url.pathname, ENDPOINTS.authorization)
  return send(url, { headers: { accept: 'text/html' } })
}
