import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Answer, type Parameters as Fields, send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// These tests check docs/interface.md section 4: the endpoints, and the parameters of the authorization request.
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
