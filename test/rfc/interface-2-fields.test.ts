import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { decodeEntities } from '../fixtures/parse-forms.ts'
import { type Client, makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { answerPage } from '../fixtures/sign-in.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// These tests check docs/interface.md section 2: the fields of the registration and of the token request.
const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)
const client = await registerClient(scopegate)
const scope = 'openid courses:read'

const REGISTRATION = {
  client_name: 'Section two',
  application_type: 'native',
  redirect_uris: ['http://127.0.0.1:49152/callback'],
  token_endpoint_auth_method: 'none',
}

function register(overrides: object): Promise<Answer> {
  return send(`${baseUrl}${ENDPOINTS.registration}`, { json: { ...REGISTRATION, ...overrides } })
}

t.test('§2 the sign-in and consent pages show client_name', async (t) => {
  const named = await registerClient(scopegate, { client_name: 'The <i>Kiln</i> Companion' })
  let page = await browser.visit(named.authorizeUrl(scope, makePkce().challenge))
  if (!page.left && page.html.includes('type="password"')) page = await answerPage(browser, page)
  if (page.left) throw new Error('no consent page was shown')
  t.ok(decodeEntities(page.html).includes('The <i>Kiln</i> Companion'), 'the name is text')
  t.notOk(page.html.includes('<i>Kiln'), 'the name is not markup')
})

t.test('§2 application_type is native for clients with loopback redirect URIs', async (t) => {
  t.match(await register({ application_type: 'native' }), {
    status: 201,
    json: { application_type: 'native' },
  })
  t.match(await register({ application_type: undefined }), {
    status: 201,
    json: { application_type: 'native' },
  })
})

t.test(
  '§2 redirect_uris must be loopback addresses of the form http://127.0.0.1:<port>/<path>',
  async (t) => {
    const uris = ['http://127.0.0.1:1024/', 'http://127.0.0.1:65535/a/b?c=d']
    t.match(await register({ redirect_uris: uris }), { status: 201, json: { redirect_uris: uris } })
    for (const uri of ['http://192.0.2.1:4000/callback', 'http://localhost:4000/callback', '/callback'])
      t.match(await register({ redirect_uris: [uri] }), {
        status: 400,
        json: { error: 'invalid_redirect_uri', error_description: /127\.0\.0\.1/ },
      })
  },
)

t.test(
  '§2 token_endpoint_auth_method creates a public client for none, and a confidential client for client_secret_post',
  async (t) => {
    const open = await register({ token_endpoint_auth_method: 'none' })
    t.equal(open.status, 201)
    t.notOk('client_secret' in open.json)
    const confidential = await register({ token_endpoint_auth_method: 'client_secret_post' })
    scopegate.secret(String(confidential.json['client_secret']))
    t.match(confidential, {
      status: 201,
      json: { client_secret: /^[\w-]{22,}$/, token_endpoint_auth_method: 'client_secret_post' },
    })
    t.match(await register({ token_endpoint_auth_method: 'client_secret_basic' }), {
      status: 400,
      json: { error: 'invalid_client_metadata' },
    })
  },
)

t.test('§2 the registration response contains client_id', async (t) => {
  const answer = await register({})
  t.equal(answer.status, 201)
  t.match(answer.headers.get('content-type'), /^application\/json/)
  t.equal(answer.headers.get('cache-control'), 'no-store', 'RFC 7591 section 3.2.1')
  t.match(answer.json['client_id'], /^[\w-]{16,}$/)
})

t.test('§2 grant_type must be authorization_code or refresh_token', async (t) => {
  const grant = await client.obtainCode({ browser, scope })
  const exchanged = await client.exchange(grant)
  t.equal(exchanged.status, 200)
  t.equal((await client.refresh(client.readTokens(exchanged).refreshToken)).status, 200)
  for (const other of [
    'password',
    'client_credentials',
    'implicit',
    'urn:ietf:params:oauth:grant-type:device_code',
  ])
    t.match(await client.exchange(grant, { grant_type: other }), {
      status: 400,
      json: { error: 'unsupported_grant_type' },
    })
})

t.test('§2 code is the code from the authorization redirect, and is valid for one exchange', async (t) => {
  const grant = await client.obtainCode({ browser, scope })
  t.match(await client.exchange({ ...grant, code: 'another' }), {
    status: 400,
    json: { error: 'invalid_grant' },
  })
  client.readTokens(await client.exchange(grant))
  t.match(await client.exchange(grant), { status: 400, json: { error: 'invalid_grant' } })
})

t.test('§2 redirect_uri must be the redirect URI of the authorization request', async (t) => {
  const two = await registerClient(scopegate, {
    redirect_uris: ['http://127.0.0.1:49152/one', 'http://127.0.0.1:49152/two'],
  })
  const grant = await two.obtainCode({ browser, scope })
  t.match(await two.exchange(grant, { redirect_uri: 'http://127.0.0.1:49152/two' }), {
    status: 400,
    json: { error: 'invalid_grant' },
  })
  const fresh = await two.obtainCode({ browser, scope })
  t.match(await two.exchange(fresh, { redirect_uri: undefined }), { status: 400, json: { error: String } })
  const good = await two.exchange(await two.obtainCode({ browser, scope }))
  t.equal(good.status, 200)
  two.readTokens(good)
})

t.test('§2 client_id must be the client that received the code', async (t) => {
  const other = await registerClient(scopegate)
  const grant = await client.obtainCode({ browser, scope })
  t.match(await other.exchange(grant), { status: 400, json: { error: 'invalid_grant' } })
  t.match(await client.exchange(grant, { client_id: 'nobody' }), {
    status: 401,
    json: { error: 'invalid_client' },
  })
})

t.test('§2 code_verifier must match the S256 challenge', async (t) => {
  for (const verifier of [makePkce().verifier, undefined, 'short'])
    t.match(await client.exchange(await client.obtainCode({ browser, scope }), { code_verifier: verifier }), {
      status: 400,
      json: { error: /^invalid_(grant|request)$/ },
    })
  const good = await client.exchange(await client.obtainCode({ browser, scope }))
  t.equal(good.status, 200)
  client.readTokens(good)
})

t.test('§2 refresh_token is exchanged for new tokens', async (t) => {
  const tokens = await client.obtainTokens({ browser, scope })
  const answer = await client.refresh(tokens.refreshToken)
  t.equal(answer.status, 200)
  const renewed = client.readTokens(answer)
  t.not(renewed.accessToken, tokens.accessToken)
  t.not(renewed.refreshToken, tokens.refreshToken)
  t.equal((await send(`${baseUrl}/api/courses`, { token: renewed.accessToken })).status, 200)
})

t.test('§2 resource binds the token to an API, and introspection returns the binding', async (t) => {
  const bound = await client.obtainTokens({ browser, scope }, { resource: baseUrl })
  t.match(await introspect(scopegate, bound.accessToken), { active: true, aud: baseUrl })
  const slash = await client.obtainTokens({ browser, scope }, { resource: `${baseUrl}/` })
  t.match(await introspect(scopegate, slash.accessToken), { active: true, aud: baseUrl })
  const atAuthorize = await client.obtainTokens(
    { browser, scope, overrides: { resource: baseUrl } },
    { resource: baseUrl },
  )
  t.match(await introspect(scopegate, atAuthorize.accessToken), { active: true, aud: baseUrl })
  const grant = await client.obtainCode({ browser, scope })
  t.match(await client.exchange(grant, { resource: 'https://elsewhere.example' }), {
    status: 400,
    json: { error: 'invalid_target' },
  })
})

t.test('§2 a confidential client sends client_secret in the form body', async (t) => {
  const confidential = await registerClient(scopegate, { token_endpoint_auth_method: 'client_secret_post' })
  const attempt = async (use: Client, secret: string | undefined): Promise<Answer> =>
    use.exchange(await use.obtainCode({ browser, scope }), { client_secret: secret })
  for (const secret of [undefined, '', 'wrong', `${confidential.clientSecret}x`])
    t.match(await attempt(confidential, secret), { status: 401, json: { error: 'invalid_client' } })
  const good = await attempt(confidential, confidential.clientSecret)
  t.equal(good.status, 200)
  confidential.readTokens(good)
})

t.test('§2 the token response returns an access token and a refresh token', async (t) => {
  const answer = await client.exchange(await client.obtainCode({ browser, scope }))
  t.equal(answer.status, 200)
  t.match(answer.json, {
    access_token: /^[\w-]{22,}$/,
    refresh_token: /^[\w-]{22,}$/,
    token_type: /^bearer$/i,
    expires_in: Number,
  })
  t.match(answer.headers.get('content-type'), /^application\/json/)
  t.equal(answer.headers.get('cache-control'), 'no-store', 'RFC 6749 section 5.1')
  client.readTokens(answer)
})
