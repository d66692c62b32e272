import * as openid from 'openid-client'
import t from 'tap'
import { openBrowser } from '../fixtures/open-browser.ts'
import { send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// The complete flow of an app with openid-client. All requests use the base URL of the gateway.
const SCOPE = 'openid profile email courses:read account:read'
const REDIRECT_URI = 'http://127.0.0.1:49200/callback'

const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)
const client = await discoverAndRegister()

t.test('OAuth and OpenID Connect discovery return the same server', async (t) => {
  const insecure = { execute: [openid.allowInsecureRequests] }
  const { client_id: clientId } = client.clientMetadata()
  const found = await openid.discovery(new URL(baseUrl), clientId, undefined, openid.None(), {
    ...insecure,
    algorithm: 'oauth2',
  })
  const server = found.serverMetadata()
  t.equal(server.issuer, baseUrl)
  t.ok(server.supportsPKCE('S256'))
  for (const [name, value] of Object.entries(client.serverMetadata()))
    if (typeof value === 'string') t.equal(server[name], value, name)
})

t.test('sign-in, API calls, refresh and refresh token reuse work as specified', async (t) => {
  const { tokens, redirect } = await authorize(SCOPE)
  t.equal(redirect.searchParams.get('iss'), baseUrl, 'iss equals the issuer in the metadata')
  t.equal(tokens.token_type, 'bearer')
  const subject = tokens.claims()?.sub ?? ''
  t.ok(subject, 'openid-client validated the ID token')

  const user = await openid.fetchUserInfo(client, tokens.access_token, subject)
  t.match(user, { sub: subject, name: String, email: /@/ })

  const withToken = await openid.fetchProtectedResource(
    client,
    tokens.access_token,
    url('/api/courses'),
    'GET',
  )
  t.equal(withToken.status, 200)
  const account = await openid.fetchProtectedResource(client, tokens.access_token, url('/api/account'), 'GET')
  t.equal(account.status, 200)
  t.match(await account.text(), subject, 'the API received the subject')

  const anonymous = await send(url('/api/courses'))
  t.equal(anonymous.status, 200)
  t.equal(
    anonymous.headers.get('www-authenticate'),
    null,
    'the response to an anonymous caller has no challenge',
  )
  t.ok(anonymous.text.length < (await withToken.text()).length, 'an anonymous caller receives less data')

  const bad = await challengeOf(
    openid.fetchProtectedResource(client, 'not-a-token', url('/api/courses'), 'GET'),
  )
  t.equal(bad.status, 401)
  t.match(bad.cause, [
    {
      scheme: 'bearer',
      parameters: {
        error: 'invalid_token',
        error_description: String,
        resource_metadata: `${baseUrl}/.well-known/oauth-protected-resource`,
      },
    },
  ])

  const lacking = await challengeOf(
    openid.fetchProtectedResource(client, tokens.access_token, url('/api/orders'), 'GET'),
  )
  t.equal(lacking.status, 403)
  t.match(lacking.cause, [
    {
      scheme: 'bearer',
      parameters: {
        error: 'insufficient_scope',
        scope: 'orders:read',
        resource_metadata: `${baseUrl}/.well-known/oauth-protected-resource`,
      },
    },
  ])

  const second = await refresh(tokens.refresh_token)
  const third = await refresh(second.refresh_token)
  t.not(third.refresh_token, second.refresh_token, 'a refresh token is rotated')
  t.not(third.access_token, second.access_token)
  t.equal((await call(third.access_token)).status, 200)

  const reuse = await refresh(tokens.refresh_token).catch((error: unknown) => error)
  t.match(reuse, { status: 400, error: 'invalid_grant' }, 'the successor of this token was already used')
  const repeated = await refresh(second.refresh_token)
  t.equal(repeated.access_token, third.access_token, 'a repeated request gets the same response')
  const fourth = await refresh(third.refresh_token)
  t.equal((await call(fourth.access_token)).status, 200, 'the grant stays valid')
})

t.test('a revoked access token is rejected although the gateway had it in the cache', async (t) => {
  const { tokens } = await authorize('courses:read')
  t.equal((await call(tokens.access_token)).status, 200)
  await openid.tokenRevocation(client, tokens.access_token)
  const answer = await until('the gateway rejects the revoked token', async () => {
    const answer = await call(tokens.access_token)
    return answer.status !== 200 && answer
  })
  t.equal(answer.status, 401)
  t.equal(answer.json['error'], 'invalid_token')
  t.match(answer.headers.get('www-authenticate'), /^Bearer error="invalid_token"/)
})

t.test('revocation of a refresh token revokes the grant and its access tokens', async (t) => {
  const { tokens } = await authorize('courses:read')
  t.equal((await call(tokens.access_token)).status, 200)
  await openid.tokenRevocation(client, tokens.refresh_token ?? '')
  t.match(await refresh(tokens.refresh_token).catch((error: unknown) => error), { error: 'invalid_grant' })
  await until(
    'the gateway rejects the access token',
    async () => (await call(tokens.access_token)).status === 401,
  )
})

t.test('a client obtains tokens with a pushed authorization request (RFC 9126)', async (t) => {
  const state = openid.randomState()
  const verifier = openid.randomPKCECodeVerifier()
  const url = await openid.buildAuthorizationUrlWithPAR(
    client,
    await parameters('courses:read', state, verifier),
  )
  t.notOk(url.searchParams.has('scope'), 'the browser receives only the request URI')
  const redirect = await signIn(browser, url)
  const tokens = await openid.authorizationCodeGrant(client, redirect, {
    pkceCodeVerifier: verifier,
    expectedState: state,
  })
  keep(tokens)
  t.equal((await call(tokens.access_token)).status, 200)
})

t.test('cancelling at the consent page gives the client access_denied with its state and iss', async (t) => {
  const state = openid.randomState()
  const redirect = await signIn(browser, await authorizationUrl('courses:read', state), {
    decision: 'cancel',
  })
  const failure = await openid
    .authorizationCodeGrant(client, redirect, { expectedState: state })
    .catch((error: unknown) => error)
  t.match(failure, { code: 'OAUTH_AUTHORIZATION_RESPONSE', error: 'access_denied' })
  t.equal(redirect.searchParams.get('iss'), baseUrl)
})

async function discoverAndRegister(): Promise<openid.Configuration> {
  const resource = await send(`${baseUrl}/.well-known/oauth-protected-resource`)
  const [issuer] = resource.json['authorization_servers'] as readonly string[]
  return openid.dynamicClientRegistration(
    new URL(String(issuer)),
    {
      client_name: 'openid-client flow',
      application_type: 'native',
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
    },
    openid.None(),
    { execute: [openid.allowInsecureRequests] },
  )
}

async function authorizationUrl(scope: string, state: string, verifier = openid.randomPKCECodeVerifier()) {
  return openid.buildAuthorizationUrl(client, await parameters(scope, state, verifier))
}

async function parameters(scope: string, state: string, verifier: string): Promise<Record<string, string>> {
  return {
    redirect_uri: REDIRECT_URI,
    scope,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  }
}

async function authorize(scope: string) {
  const state = openid.randomState()
  const verifier = openid.randomPKCECodeVerifier()
  const redirect = await signIn(browser, await authorizationUrl(scope, state, verifier))
  // openid-client checks the state, `iss` (RFC 9207), and the ID token of the openid scope.
  const tokens = await openid.authorizationCodeGrant(client, redirect, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    idTokenExpected: scope.includes('openid'),
  })
  for (const secret of [redirect.searchParams.get('code') ?? undefined, verifier]) scopegate.secret(secret)
  keep(tokens)
  return { tokens, redirect }
}

async function refresh(refreshToken: string | undefined) {
  const tokens = await openid.refreshTokenGrant(client, refreshToken ?? '')
  keep(tokens)
  return tokens
}

function keep(tokens: openid.TokenEndpointResponse): void {
  for (const secret of [tokens.access_token, tokens.refresh_token, tokens.id_token]) scopegate.secret(secret)
}

function call(token: string) {
  return send(url('/api/courses'), { token })
}

function url(path: string): URL {
  return new URL(path, baseUrl)
}

async function challengeOf(call: Promise<Response>): Promise<openid.WWWAuthenticateChallengeError> {
  const failure = await call.catch((error: unknown) => error)
  if (failure instanceof openid.WWWAuthenticateChallengeError) return failure
  throw new Error('the call was not challenged', { cause: failure })
}
