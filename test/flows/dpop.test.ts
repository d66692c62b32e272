import * as oauth from 'oauth4webapi'
import t, { type Test } from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { beforeAuthorizationServer } from '../fixtures/before-authorization-server.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { parseObject, send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

// RFC 9449 with the strict client library oauth4webapi. The gateway requires its own nonces.
const INSECURE = { [oauth.allowInsecureRequests]: true } as const
const REDIRECT_URI = 'http://127.0.0.1:49153/callback'
const SECRET = 'a secret that every replica has, of 32 characters'

async function startBoth(t: Test) {
  const [port, serverPort] = [await quietPort(), await quietPort()]
  const base = `http://127.0.0.1:${port}`
  const server = await startServer(t, { issuer: base, listen: { host: '127.0.0.1', port: serverPort } })
  const serverUrl = `http://127.0.0.1:${serverPort}`
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...beforeAuthorizationServer(config, { base, port, serverUrl, gatewaySecret: server.gatewaySecret }),
      dpop: { nonceSecrets: [SECRET] },
    }),
  })
  return { base, server, under, serverUrl }
}

async function discover(base: string): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(base)
  return oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...INSECURE }),
  )
}

/** Signs in with a client that sends the thumbprint of its key. Returns the parameters of the callback. */
async function authorize(as: oauth.AuthorizationServer, client: oauth.Client, base: string, jkt: string) {
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const address = new URL(as.authorization_endpoint ?? '')
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    scope: 'openid email courses:read',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    dpop_jkt: jkt,
  }).toString()
  const location = await signIn(openBrowser(base), address)
  return { callback: oauth.validateAuthResponse(as, client, location, state), verifier }
}

t.test('§5 of RFC 9449: oauth4webapi completes the flow with DPoP and nonces', async (t) => {
  const { base, server, under, serverUrl } = await startBoth(t)
  const as = await discover(base)
  t.ok(as.dpop_signing_alg_values_supported?.includes('ES256'))
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      {
        redirect_uris: [REDIRECT_URI],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        dpop_bound_access_tokens: true,
      },
      INSECURE,
    ),
  )
  const DPoP = oauth.DPoP({ [oauth.clockSkew]: 0 }, await oauth.generateKeyPair('ES256'))
  const thief = oauth.DPoP({ [oauth.clockSkew]: 0 }, await oauth.generateKeyPair('ES256'))
  const auth = oauth.None()
  const { callback, verifier } = await authorize(as, client, base, await DPoP.calculateThumbprint())

  const tokens = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(as, client, auth, callback, REDIRECT_URI, verifier, {
      DPoP,
      ...INSECURE,
    }),
    { requireIdToken: true },
  )
  for (const secret of [tokens.access_token, tokens.refresh_token]) server.secret(secret)
  t.equal(tokens.token_type, 'dpop')

  const api = new URL('/api/courses', base)
  const call = (token: string, handle = DPoP, method = 'GET') =>
    oauth.protectedResourceRequest(token, method, api, undefined, null, { DPoP: handle, ...INSECURE })
  const failure = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

  await t.test('the first request receives a nonce and the second request uses it', async (t) => {
    const asked = await failure(call(tokens.access_token))
    t.equal(oauth.isDPoPNonceError(asked), true)
    t.equal((await call(tokens.access_token)).status, 200)
    t.equal((await call(tokens.access_token)).status, 200, 'the third request also uses the nonce')
    t.match(under.upstream.bytes, 'x-auth-client-id: ')
    t.notMatch(under.upstream.bytes.toLowerCase(), /^dpop:/m)
  })

  await t.test('introspection returns the key binding', async (t) => {
    const answer = await fetch(`${serverUrl}/api/oauth/introspect`, {
      method: 'POST',
      body: new URLSearchParams({
        token: tokens.access_token,
        client_id: 'gateway',
        client_secret: server.gatewaySecret,
      }),
    })
    t.match(parseObject(await answer.text()), {
      active: true,
      token_type: 'DPoP',
      cnf: { jkt: await DPoP.calculateThumbprint() },
    })
  })

  await t.test('another key cannot use the access token or the refresh token', async (t) => {
    const before = under.upstream.bytes
    const stolen = await send(api.href, { token: tokens.access_token })
    t.equal(stolen.status, 401)
    t.match(stolen.headers.get('www-authenticate'), /^Bearer error="invalid_token".*, DPoP algs="/)
    await failure(call(tokens.access_token, thief)) // the response contains the nonce
    t.match(await failure(call(tokens.access_token, thief)), {
      status: 401,
      cause: [{ scheme: 'dpop', parameters: { error: 'invalid_token' } }],
    })
    t.equal(under.upstream.bytes, before, 'nothing was forwarded')
    const refresh = (options: oauth.TokenEndpointRequestOptions) =>
      oauth
        .refreshTokenGrantRequest(as, client, auth, tokens.refresh_token ?? '', { ...options, ...INSECURE })
        .then((response) => oauth.processRefreshTokenResponse(as, client, response))
    await failure(refresh({ DPoP: thief })) // the response contains the nonce of that server
    t.match(await failure(refresh({ DPoP: thief })), { error: 'invalid_grant' })
    t.match(await failure(refresh({})), { error: /^invalid_/ })
  })

  await t.test('userinfo accepts a token only with a valid proof by the bound key', async (t) => {
    const sub = String(oauth.getValidatedIdTokenClaims(tokens)?.sub)
    const url = `${base}/api/oauth/userinfo`
    const user = await oauth.processUserInfoResponse(
      as,
      client,
      sub,
      await oauth.userInfoRequest(as, client, tokens.access_token, { DPoP, ...INSECURE }),
    )
    t.match(user, { email: /@/ })
    const bearer = await send(url, { token: tokens.access_token })
    t.equal(bearer.status, 401)
    t.match(bearer.headers.get('www-authenticate'), /^Bearer error="invalid_token".*, DPoP algs="/)

    const key = aProofKey()
    const headers = {
      authorization: `DPoP ${tokens.access_token}`,
      dpop: aProof({ key, url, token: tokens.access_token }),
    }
    const others = await send(url, { headers })
    t.match(others, { status: 401, json: { error: 'invalid_token' } }, 'a valid proof by another key')
    t.match(others.headers.get('www-authenticate'), /^DPoP error="invalid_token".*algs="/)
    for (const [what, proof] of Object.entries({
      missing: undefined,
      words: 'proof',
      'for another token': aProof({ key, url, token: 'x' }),
      'of another place': aProof({ key, url: api.href, token: tokens.access_token }),
      'of another method': aProof({ key, url, method: 'POST', token: tokens.access_token }),
      'with a private key': aProof({
        key,
        url,
        token: tokens.access_token,
        header: { jwk: key.privateKey.export({ format: 'jwk' }) },
      }),
      'with an invalid key': aProof({
        key,
        url,
        token: tokens.access_token,
        header: { jwk: { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' } },
      }),
      old: aProof({ key, url, token: tokens.access_token, claims: { iat: 1 } }),
    })) {
      const headers: Record<string, string> = { authorization: `DPoP ${tokens.access_token}` }
      if (proof !== undefined) headers['dpop'] = proof
      const answer = await fetch(url, { headers })
      t.equal(answer.status, 401, what)
      t.equal(parseObject(await answer.text())['error'], 'invalid_dpop_proof', what)
      t.match(answer.headers.get('www-authenticate'), /^DPoP error="invalid_dpop_proof".*algs="/, what)
    }
  })

  await t.test('a refresh with a proof returns a token that is bound to the same key', async (t) => {
    const refresh = async (refreshToken: string | undefined) => {
      const ask = () =>
        oauth
          .refreshTokenGrantRequest(as, client, auth, refreshToken ?? '', { DPoP, ...INSECURE })
          .then((response) => oauth.processRefreshTokenResponse(as, client, response))
      const got = await ask().catch((error: unknown) => {
        if (oauth.isDPoPNonceError(error)) return ask()
        throw error
      })
      for (const secret of [got.access_token, got.refresh_token]) server.secret(secret)
      return got
    }
    const second = await refresh(tokens.refresh_token)
    t.equal(second.token_type, 'dpop')
    const called = await call(second.access_token).catch(() => call(second.access_token))
    t.equal(called.status, 200)
    t.equal((await send(api.href, { token: second.access_token })).status, 401)
    const third = await refresh(second.refresh_token)
    t.equal((await call(third.access_token).catch(() => call(third.access_token))).status, 200)
  })
})

t.test('§10 of RFC 9449: a code that is bound to a key is valid only with this key', async (t) => {
  const { base, server } = await startBoth(t)
  const as = await discover(base)
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: 'none', application_type: 'native' },
      INSECURE,
    ),
  )
  const own = oauth.DPoP({ [oauth.clockSkew]: 0 }, await oauth.generateKeyPair('EdDSA'))
  const thief = oauth.DPoP({ [oauth.clockSkew]: 0 }, await oauth.generateKeyPair('ES256'))
  const { callback, verifier } = await authorize(as, client, base, await own.calculateThumbprint())
  const exchange = (options: oauth.TokenEndpointRequestOptions) =>
    oauth
      .authorizationCodeGrantRequest(as, client, oauth.None(), callback, REDIRECT_URI, verifier, {
        ...options,
        ...INSECURE,
      })
      .then((response) => oauth.processAuthorizationCodeResponse(as, client, response))
  for (const options of [{ DPoP: thief }, {}])
    t.match(await exchange(options).catch((error: unknown) => error), { error: /^invalid_/ })
  const preflight = await fetch(String(as.token_endpoint), {
    method: 'OPTIONS',
    headers: {
      origin: 'https://page.test',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'dpop',
    },
  })
  t.match(preflight.headers.get('access-control-allow-headers'), /\bdpop\b/)
  t.match(preflight.headers.get('access-control-expose-headers'), 'DPoP-Nonce')
  server.secret(callback.get('code') ?? undefined)
})
