import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// These tests check docs/interface.md sections 5.1 to 5.9, and RFC 8252 for native apps.
const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)
const client = await registerClient(scopegate)
const metadata = (await send(`${baseUrl}/.well-known/oauth-authorization-server`)).json
const metadataUrl = `${baseUrl}/.well-known/oauth-protected-resource`

t.test('§5.1 the only flow is Authorization Code with PKCE S256', async (t) => {
  t.same(metadata['response_types_supported'], ['code'])
  t.same(metadata['code_challenge_methods_supported'], ['S256'])
  t.same((metadata['grant_types_supported'] as string[]).toSorted(), ['authorization_code', 'refresh_token'])
  t.notOk('device_authorization_endpoint' in metadata)
  const { challenge } = makePkce()
  const attempts = {
    'no challenge': { code_challenge: undefined, code_challenge_method: undefined },
    'the plain method': { code_challenge_method: 'plain' },
    'the implicit flow': { response_type: 'token' },
    'the hybrid flow': { response_type: 'code id_token', nonce: 'n', scope: 'openid' },
  }
  for (const [name, overrides] of Object.entries(attempts)) {
    const answer = await send(client.authorizeUrl('courses:read', challenge, overrides))
    const location = new URL(answer.headers.get('location') ?? 'about:blank')
    const parameters =
      location.search === '' ? new URLSearchParams(location.hash.slice(1)) : location.searchParams
    t.match(parameters.get('error'), /^(invalid_request|unsupported_response_type)$/, name)
    t.notOk(parameters.has('code') || parameters.has('access_token'), name)
  }
})

t.test(
  '§5.2 the authentication method is none for public clients and client_secret_post for confidential clients',
  async (t) => {
    t.same((metadata['token_endpoint_auth_methods_supported'] as string[]).toSorted(), [
      'client_secret_post',
      'none',
    ])
    for (const method of ['none', 'client_secret_post']) {
      const registered = await registerClient(scopegate, { token_endpoint_auth_method: method })
      const { accessToken } = await registered.obtainTokens({ browser, scope: 'courses:read' })
      t.equal((await send(`${baseUrl}/api/courses`, { token: accessToken })).status, 200, method)
      if (method === 'none') continue
      const grant = await registered.obtainCode({ browser, scope: 'courses:read' })
      const basic = await send(`${baseUrl}${ENDPOINTS.token}`, {
        headers: { authorization: `Basic ${btoa(`${registered.clientId}:${registered.clientSecret}`)}` },
        form: {
          grant_type: 'authorization_code',
          code: grant.code,
          code_verifier: grant.verifier,
          redirect_uri: registered.redirectUri,
        },
      })
      t.match(
        basic,
        { status: 401, json: { error: 'invalid_client' } },
        'HTTP Basic is not a supported method',
      )
    }
  },
)

t.test(
  '§5.3 a client can discover, register, authorize, exchange, call, refresh and revoke in this order',
  async (t) => {
    const resource = (await send(metadataUrl)).json
    const [issuer] = resource['authorization_servers'] as readonly string[]
    const server = (await send(`${issuer}/.well-known/oauth-authorization-server`)).json
    t.equal(server['issuer'], issuer)
    const registered = await send(String(server['registration_endpoint']), {
      json: { client_name: 'In order', redirect_uris: ['http://127.0.0.1:49152/callback'] },
    })
    t.match(registered, { status: 201, json: { token_endpoint_auth_method: 'none' } })

    const inOrder = await registerClient(scopegate, { client_name: 'In order' })
    const tokens = await inOrder.obtainTokens({ browser, scope: 'courses:read' })
    const call = (token: string): Promise<Answer> => send(`${baseUrl}/api/courses`, { token })
    t.equal((await call(tokens.accessToken)).status, 200)
    const renewed = inOrder.readTokens(await inOrder.refresh(tokens.refreshToken))
    t.equal((await call(renewed.accessToken)).status, 200)
    t.equal((await inOrder.revoke(renewed.refreshToken)).status, 200)
    await until(
      'the gateway rejects tokens of the revoked grant',
      async () => (await call(renewed.accessToken)).status === 401,
    )
  },
)

t.test(
  '§5.4 a redirect URI that is not a loopback address is rejected with invalid_redirect_uri',
  async (t) => {
    for (const uri of [
      'https://app.example/callback',
      'http://app.example/callback',
      'com.example.app:/callback',
    ]) {
      const answer = await send(`${baseUrl}${ENDPOINTS.registration}`, {
        json: { client_name: 'Web', redirect_uris: [uri] },
      })
      t.match(
        answer,
        { status: 400, json: { error: 'invalid_redirect_uri', error_description: /127\.0\.0\.1/ } },
        uri,
      )
    }
    // RFC 8252 section 7.3: the app selects the port when it sends the authorization request.
    const native = await registerClient(scopegate, { redirect_uris: ['http://127.0.0.1:49152/callback'] })
    const elsewhere = { redirect_uri: 'http://127.0.0.1:50123/callback' }
    const tokens = await native.obtainTokens(
      { browser, scope: 'courses:read', overrides: elsewhere },
      elsewhere,
    )
    t.equal((await send(`${baseUrl}/api/courses`, { token: tokens.accessToken })).status, 200)
  },
)

t.test('§5.5 a request without a token is forwarded as anonymous, without a challenge', async (t) => {
  const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
  const anonymous = await send(`${baseUrl}/api/courses`)
  const identified = await send(`${baseUrl}/api/courses`, { token: accessToken })
  t.equal(anonymous.status, 200)
  t.notOk(anonymous.headers.has('www-authenticate'))
  t.notOk(anonymous.headers.has('x-scopegate-error'))
  t.notSame(anonymous.json, identified.json, 'an anonymous caller receives less data')
  const forged = await send(`${baseUrl}/api/courses`, {
    headers: { 'x-auth-subject': 'alice', 'x-auth-scope': 'courses:read', X_Auth_Subject: 'alice' },
  })
  t.same(forged.json, anonymous.json, 'forged identity headers have no effect')
})

t.test('§5.6 an invalid token gets 401 invalid_token and the URL of the metadata', async (t) => {
  const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
  for (const token of ['not-a-token', `${accessToken}x`, accessToken.slice(0, -1), 'a.b.c']) {
    const answer = await send(`${baseUrl}/api/courses`, { token })
    t.match(answer, { status: 401, json: { error: 'invalid_token', error_description: String } })
    t.match(parseChallenge(answer.headers.get('www-authenticate')), {
      scheme: 'Bearer',
      parameters: { error: 'invalid_token', resource_metadata: metadataUrl },
    })
  }
  t.equal((await send(metadataUrl)).status, 200, 'the metadata URL works')
})

t.test('§5.7 a token without the scope gets 403 insufficient_scope and a challenge', async (t) => {
  const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
  const answer = await send(`${baseUrl}/api/orders`, { token: accessToken })
  t.match(answer, { status: 403, json: { error: 'insufficient_scope', error_description: String } })
  t.same(parseChallenge(answer.headers.get('www-authenticate')).parameters['scope'], 'orders:read')
})

t.test('§5.8 the server supports neither assertions nor claim steps of agent authentication', async (t) => {
  for (const name of Object.keys(metadata)) t.notMatch(name, /agent|claim_endpoint|assertion_endpoint/)
  for (const grant of [
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:token-exchange',
  ])
    t.match(
      await send(`${baseUrl}${ENDPOINTS.token}`, {
        form: { grant_type: grant, assertion: 'x', client_id: client.clientId },
      }),
      { status: 400, json: { error: 'unsupported_grant_type' } },
    )
  const registered = await registerClient(scopegate)
  const first = await registered.obtainCode({ browser, scope: 'courses:read' })
  scopegate.secret(first.code)
  t.match(
    (await send(`${baseUrl}/auth.md`)).text,
    /there is no grant for identity assertions or service\s+accounts/,
    'auth.md states it',
  )
})

t.test('§5.9 the server sets the token lifetimes and returns them to clients', async (t) => {
  const grant = await client.obtainCode({ browser, scope: 'courses:read' })
  const answer = await client.exchange(grant)
  client.readTokens(answer)
  t.equal(answer.json['expires_in'], 15 * 60, 'an access token expires after 15 minutes')
})

t.test(
  '§7 of RFC 8252: loopback is the only kind of redirect URI that a native app can register',
  async (t) => {
    for (const uri of [
      'com.example.app:/oauth2redirect',
      'com.example.app://oauth2redirect',
      'https://app.example.com/oauth2redirect',
      'http://127.0.0.1.example.com/callback',
    ])
      t.match(await register({ redirect_uris: [uri] }), {
        status: 400,
        json: { error: 'invalid_redirect_uri' },
      })
    t.equal((await register({ redirect_uris: ['http://127.0.0.1:1/callback'] })).status, 201)
  },
)

t.test('§8.1 of RFC 8252: a request of a native app without PKCE gets an error', async (t) => {
  const url = client.authorizeUrl('openid', '', {
    code_challenge: undefined,
    code_challenge_method: undefined,
  })
  t.match(await errorOf(url), { error: 'invalid_request', error_description: /PKCE|code_challenge/ })
})

t.test('§8.2 of RFC 8252: the implicit flow is not available', async (t) => {
  for (const type of ['token', 'id_token', 'id_token token']) {
    const url = client.authorizeUrl('openid', makePkce().challenge, { response_type: type, nonce: 'n' })
    t.match(await errorOf(url), { error: 'unsupported_response_type' })
  }
})

t.test('§8.3 of RFC 8252: a redirect URI with localhost is rejected by default', async (t) => {
  for (const host of ['localhost', 'LOCALHOST', 'localhost.'])
    t.match(await register({ redirect_uris: [`http://${host}:49152/callback`] }), {
      status: 400,
      json: { error: 'invalid_redirect_uri', error_description: /127\.0\.0\.1/ },
    })
})

t.test('§8.4 of RFC 8252: a native app registers its complete redirect URI and its type', async (t) => {
  for (const uris of [undefined, [], ['http://127.0.0.1:49152']])
    t.match(await register({ redirect_uris: uris }), { status: 400, json: { error: String } })
  t.match(await register({}), {
    status: 201,
    json: { application_type: 'native', token_endpoint_auth_method: 'none' },
  })
  for (const uri of ['http://127.0.0.1:49152/callbac', 'http://127.0.0.1:49152/callback?a=b']) {
    const answer = await send(client.authorizeUrl('openid', makePkce().challenge, { redirect_uri: uri }))
    t.match(answer, { status: 400, json: { error: 'invalid_redirect_uri' } })
    t.notOk(answer.headers.has('location'))
  }
})

t.test('§8.5 of RFC 8252: a native app gets no secret, and a secret replaces no PKCE', async (t) => {
  t.notOk('client_secret' in (await register({})).json)
  const confidential = await registerClient(scopegate, { token_endpoint_auth_method: 'client_secret_post' })
  const url = confidential.authorizeUrl('openid', '', {
    code_challenge: undefined,
    code_challenge_method: undefined,
  })
  t.match(await errorOf(url), { error: 'invalid_request' })
})

t.test('§8.6 of RFC 8252: a person allows each authorization of a native app', async (t) => {
  await client.obtainTokens({ browser, scope: 'courses:read' })
  const again = await browser.visit(client.authorizeUrl('courses:read', makePkce().challenge))
  t.notOk(again.left, 'the consent page appears again')
  const silent = client.authorizeUrl('openid', makePkce().challenge, { prompt: 'none' })
  const left = await browser.visit(silent)
  t.match(left.left && left.location.searchParams.get('error'), /^(consent|interaction)_required$/)
})

function register(overrides: object): Promise<Answer> {
  return send(`${baseUrl}${ENDPOINTS.registration}`, {
    json: { client_name: 'Native app', redirect_uris: ['http://127.0.0.1:49152/callback'], ...overrides },
  })
}

/** Returns the parameters of the redirect to the client. RFC 6749 section 4.2.2.1: other flows use the fragment. */
async function errorOf(url: URL): Promise<Readonly<Record<string, string>>> {
  const { search, hash } = new URL((await send(url)).headers.get('location') ?? 'about:blank')
  return Object.fromEntries(new URLSearchParams(search === '' ? hash.slice(1) : search))
}
