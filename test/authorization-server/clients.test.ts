import { join } from 'node:path'
import * as oauth from 'oauth4webapi'
import t, { type Test } from 'tap'
import { scopeField } from '../../authorization-server/consent/scope-selection.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../authorization-server/store/sqlite-store.ts'
import type { Store } from '../../authorization-server/store/store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser, type Page } from '../fixtures/open-browser.ts'
import { knownClient, makePkce, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { answerPage, signIn } from '../fixtures/sign-in.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { TOKEN_SETTINGS } from '../fixtures/token-settings.ts'

const insecure = { [oauth.allowInsecureRequests]: true }

t.test('oauth4webapi completes the flow', async (t) => {
  const server = await startServer(t)
  const issuer = new URL(server.baseUrl)
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  )
  const redirectUri = 'http://127.0.0.1:49152/callback'
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none', application_type: 'native' },
      insecure,
    ),
  )
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const address = new URL(as.authorization_endpoint ?? '')
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: 'openid email courses:read',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    resource: issuer.href, // clients of the Model Context Protocol send a trailing slash
  }).toString()
  const location = await signIn(openBrowser(server.baseUrl), address)
  const parameters = oauth.validateAuthResponse(as, client, location, state)
  const auth = oauth.None()
  const tokens = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(as, client, auth, parameters, redirectUri, verifier, insecure),
    { requireIdToken: true },
  )
  t.equal(tokens.scope, 'openid email courses:read')
  const { sub } = oauth.getValidatedIdTokenClaims(tokens) ?? { sub: '' }
  const claims = await oauth.processUserInfoResponse(
    as,
    client,
    sub,
    await oauth.userInfoRequest(as, client, tokens.access_token, insecure),
  )
  t.match(claims, { sub, email: 'alice@example.com' })
  const refreshed = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token ?? '', insecure),
  )
  t.ok(refreshed.refresh_token)
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, auth, refreshed.refresh_token ?? '', insecure),
  )
  const rejected = await oauth
    .processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, auth, refreshed.refresh_token ?? '', insecure),
    )
    .catch((error: unknown) => error)
  t.ok(rejected instanceof oauth.ResponseBodyError)
  t.match(rejected, { error: 'invalid_grant' })
})

t.test('an unused client registration expires after a week, and a used registration stays', async (t) => {
  const server = await startServer(t)
  const used = await registerClient(server)
  await used.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid' })
  const unused = await registerClient(server)
  const inAWeek = Math.floor(Date.now() / 1000) + 8 * 86_400
  const store = openStoreOf(t, server.dataDir, () => inAWeek)
  t.equal(await store.artifacts('Client').find(unused.clientId), undefined)
  t.match(await store.artifacts('Client').find(used.clientId), { client_id: used.clientId })
})

t.test('introspection returns inactive for a token of a deleted client', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const { accessToken } = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid' })
  const store = openStoreOf(t, server.dataDir, () => Math.floor(Date.now() / 1000))
  await store.artifacts('Client').destroy(client.clientId)
  const answer = await send(`${server.baseUrl}${ENDPOINTS.introspection}`, {
    form: { client_id: 'gateway', client_secret: server.gatewaySecret, token: accessToken },
  })
  t.equal(answer.status, 200)
  t.same(answer.json, { active: false })
})

t.test('a configured integration has a fixed HTTPS callback and is verified', async (t) => {
  const dir = t.testdir({ secret: 'a-secret-that-the-operator-made\n' })
  const callback = 'https://app.example.com/callback'
  const server = await startServer(t, {
    integrations: [
      {
        clientId: 'our-web-app',
        clientName: 'Our web app',
        redirectUris: [callback],
        clientSecretFile: join(dir, 'secret'),
      },
    ],
  })
  const client = knownClient(server, {
    clientId: 'our-web-app',
    clientSecret: 'a-secret-that-the-operator-made',
    redirectUri: callback,
  })
  const { challenge } = makePkce()
  const elsewhere = await send(
    client.authorizeUrl('openid', challenge, { redirect_uri: 'https://app.example.com:8443/callback' }),
  )
  t.match(elsewhere, { status: 400, json: { error: 'invalid_redirect_uri' } }, 'the port is also fixed')
  const browser = openBrowser(server.baseUrl)
  const page = (await browser.visit(client.authorizeUrl('openid', challenge))) as Page
  const consent = (await answerPage(browser, page)) as Page
  t.match(consent.html, /Our web app/)
  t.notMatch(consent.html, /not verified/i)
  const tokens = await client.obtainTokens({ browser, scope: 'openid' })
  t.ok(tokens.refreshToken)
})

t.test('another user can sign in with the same browser, and gets a new session', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const browser = openBrowser(server.baseUrl)
  const alice = await client.obtainTokens({ browser, scope: 'openid profile' })
  const { verifier, challenge } = makePkce()
  const page = (await browser.visit(client.authorizeUrl('openid profile', challenge))) as Page
  t.match(page.html, /alice/i, 'the session is still valid, so the page requires only consent')
  const switched = (await browser.visit(`${page.url}?account=other`)) as Page
  const consent = (await answerPage(browser, switched, { username: 'bob' })) as Page
  t.match(consent.html, /bob/i)
  const departure = await answerPage(browser, consent)
  if (!departure.left) throw new Error('the browser did not leave')
  const code = departure.location.searchParams.get('code') ?? ''
  const bob = client.readTokens(await client.exchange({ code, verifier }))
  const nameOf = async (token: string) =>
    (await send(`${server.baseUrl}${ENDPOINTS.userinfo}`, { token })).json['preferred_username']
  t.equal(await nameOf(bob.accessToken), 'bob')
  t.equal(await nameOf(alice.accessToken), 'alice')
})

t.test('the token contains only the scopes that the user granted', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const browser = openBrowser(server.baseUrl)
  const { verifier, challenge } = makePkce()
  let page = (await browser.visit(client.authorizeUrl('openid courses:read orders:read', challenge))) as Page
  page = (await answerPage(browser, page)) as Page
  const form = page.forms.find((each) => each.action.endsWith('/consent'))
  if (form === undefined) throw new Error('no consent form')
  const unticked = { ...form, fields: form.fields.filter(([name]) => name !== scopeField('orders:read')) }
  t.equal(unticked.fields.length, form.fields.length - 1)
  const departure = await browser.submit(unticked)
  if (!departure.left) throw new Error(`the browser did not leave: ${departure.html}`)
  const code = departure.location.searchParams.get('code') ?? ''
  const answer = await client.exchange({ code, verifier })
  client.readTokens(answer)
  t.equal(answer.json['scope'], 'openid courses:read')
})

t.test(
  'an access token expires after its lifetime, and a token family after the absolute lifetime',
  async (t) => {
    const MINUTE = 60
    const DAY = 86_400
    const startedMs = Date.now()
    const server = await startServer(t)
    const client = await registerClient(server)
    let tokens = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid' })
    const ask = () => send(`${server.baseUrl}${ENDPOINTS.userinfo}`, { token: tokens.accessToken })
    /** Sets the clock of the server to `secondsLater` after the start of the test. */
    const itIs = (secondsLater: number) => {
      const nowMs = startedMs + secondsLater * 1_000
      t.intercept(Date, 'now', { value: () => nowMs })
    }
    itIs(14 * MINUTE)
    t.equal((await ask()).status, 200)
    itIs(16 * MINUTE)
    const rejected = await ask()
    t.match(rejected, { status: 401, json: { error: 'invalid_token' } })
    t.match(rejected.headers.get('www-authenticate'), /error="invalid_token"/)

    for (const day of [29, 58, 87]) {
      itIs(day * DAY)
      const answer = await client.refresh(tokens.refreshToken)
      t.equal(answer.status, 200, `after ${day} days`)
      tokens = client.readTokens(answer)
      t.equal((await ask()).status, 200)
    }
    itIs(91 * DAY)
    t.match(
      await client.refresh(tokens.refreshToken),
      { status: 400, json: { error: 'invalid_grant' } },
      'four days after its last use, 90 days after the first sign-in',
    )
  },
)

t.test('a successor expires with the lifetime of its first refresh token', async (t) => {
  const server = await startServer(t, {
    lifetimes: {
      codeSeconds: 60,
      accessTokenSeconds: 10,
      refreshTokenSeconds: 100,
      refreshTokenMaxSeconds: 150,
      sessionSeconds: 1_000,
    },
  })
  const client = await registerClient(server, { token_endpoint_auth_method: 'client_secret_post' })
  const startedMs = Date.now()
  const itIs = (secondsLater: number) => {
    const nowMs = startedMs + secondsLater * 1_000
    t.intercept(Date, 'now', { value: () => nowMs })
  }
  itIs(0)
  const first = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid' })
  const lifetimeOf = async (token: string): Promise<number> => {
    const { json } = await send(`${server.baseUrl}${ENDPOINTS.introspection}`, {
      form: { client_id: client.clientId, client_secret: client.clientSecret, token },
    })
    return Number(json['exp']) - Math.floor(startedMs / 1_000)
  }
  t.equal(await lifetimeOf(first.refreshToken), 100)
  itIs(60)
  const second = client.readTokens(await client.refresh(first.refreshToken))
  t.equal(await lifetimeOf(second.refreshToken), 150)
  itIs(120)
  const third = client.readTokens(await client.refresh(second.refreshToken))
  t.equal(await lifetimeOf(third.refreshToken), 150)
})

t.test('an unused refresh token expires after its lifetime', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const { refreshToken } = await client.obtainTokens({
    browser: openBrowser(server.baseUrl),
    scope: 'openid',
  })
  const later = Date.now() + 31 * 86_400_000
  t.intercept(Date, 'now', { value: () => later })
  t.match(await client.refresh(refreshToken), { status: 400, json: { error: 'invalid_grant' } })
})

function openStoreOf(t: Test, dataDir: string, nowSeconds: () => number): Store {
  const store = openSqliteStore(join(dataDir, SQLITE_FILE_NAME), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  return store
}
