import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalJWKSet, decodeJwt, importJWK, type JSONWebKeySet, jwtVerify, SignJWT } from 'jose'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { introspect } from '../fixtures/introspect.ts'
import { type Browser, openBrowser, type Page } from '../fixtures/open-browser.ts'
import { knownClient, makePkce, registerClient } from '../fixtures/register-client.ts'
import { encodeParameters, type Parameters, send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

// These tests check OpenID Connect RP-Initiated Logout 1.0, OpenID Connect Core 1.0 and OpenID Connect Discovery 1.0.
const AFTER = 'https://app.example/signed-out?from=api'

const links = { terms: 'https://example.com/terms', privacy: 'https://example.com/privacy' }
const server = await startServer(t, {
  look: { logo: undefined, css: undefined, colors: {}, links },
  integrations: [
    {
      clientId: 'portal',
      clientName: 'Portal',
      redirectUris: ['https://app.example/callback'],
      postLogoutRedirectUris: [AFTER],
      clientSecretFile: undefined,
    },
    {
      clientId: 'trusted',
      clientName: 'Own application',
      redirectUris: ['https://own.example/callback'],
      clientSecretFile: undefined,
      trusted: true,
    },
  ],
})
const LOGOUT = `${server.baseUrl}${ENDPOINTS.endSession}`

function logoutUrl(parameters: Parameters): string {
  return `${LOGOUT}?${encodeParameters(parameters)}`
}

async function signIn(username = 'alice') {
  const client = knownClient(server, {
    clientId: 'portal',
    clientSecret: undefined,
    redirectUri: 'https://app.example/callback',
  })
  const browser = openBrowser(server.baseUrl)
  const tokens = await client.obtainTokens({
    browser,
    scope: 'openid courses:read',
    person: { username, password: username },
  })
  return { browser, tokens, idToken: String(tokens.idToken) }
}

function stay(page: Awaited<ReturnType<Browser['visit']>>): Page {
  if (page.left) throw new Error(`the browser left to ${page.location}`)
  return page
}

/** With a session in the browser, the account page needs no sign-in. */
async function isSignedIn(browser: Browser): Promise<boolean> {
  return stay(await browser.visit(`${server.baseUrl}${ENDPOINTS.account}`)).html.includes('Your account')
}

t.test('§2.1 the metadata contains end_session_endpoint', async (t) => {
  for (const path of [ENDPOINTS.openidConfiguration, ENDPOINTS.authorizationServerMetadata])
    t.equal((await send(server.baseUrl + path)).json['end_session_endpoint'], LOGOUT)
})

t.test('§2 a valid ID token of the signed-in person ends the session and redirects with state', async (t) => {
  const { browser, tokens, idToken } = await signIn()
  t.equal(await isSignedIn(browser), true)
  const left = await browser.visit(
    logoutUrl({ id_token_hint: idToken, post_logout_redirect_uri: AFTER, state: 'a b&c' }),
  )
  t.match(left, { left: true, status: 303 })
  t.equal(left.left && left.location.href, 'https://app.example/signed-out?from=api&state=a+b%26c')
  t.equal(await isSignedIn(browser), false)
  t.equal((await introspect(server, tokens.accessToken))['active'], true, 'grants and tokens stay valid')
  const [line] = server.log().filter(({ action }) => action === 'signed_out')
  t.match(line, { event: 'audit', client_id: 'portal', subject: String })
})

t.test('§2 the endpoint accepts POST', async (t) => {
  const { browser, idToken } = await signIn()
  const cookie = [...browser.cookies.values()].map(({ name, value }) => `${name}=${value}`).join('; ')
  const answer = await send(LOGOUT, {
    headers: { cookie },
    form: { id_token_hint: idToken, post_logout_redirect_uri: AFTER },
  })
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), AFTER)
  t.equal(await isSignedIn(browser), false)
})

t.test('§2 without a hint, the person is asked first, and a form of another site is rejected', async (t) => {
  const { browser } = await signIn()
  const page = stay(
    await browser.visit(logoutUrl({ client_id: 'portal', post_logout_redirect_uri: AFTER, state: 'x' })),
  )
  t.match(page.html, 'Sign out?')
  t.match(page.html, 'Portal')
  t.notMatch(page.headers.get('content-security-policy'), 'form-action', 'the client may redirect further')
  t.equal(await isSignedIn(browser), true)
  const [form] = page.forms
  if (form === undefined) throw new Error('the page has no form')
  const rejected = stay(await browser.submit(form, { form_token: 'wrong' }))
  t.equal(rejected.status, 403)
  t.equal(await isSignedIn(browser), true)
  const left = await browser.submit(form)
  t.equal(left.left && left.location.href, `${AFTER}&state=x`)
  t.equal(await isSignedIn(browser), false)
})

t.test('§2 with the ID token of another person, the person is asked first', async (t) => {
  const [alice, bob] = [await signIn(), await signIn('bob')]
  const page = stay(await alice.browser.visit(logoutUrl({ id_token_hint: bob.idToken })))
  t.match(page.html, 'Sign out?')
  t.equal(await isSignedIn(alice.browser), true)
})

t.test('§2 and §3: invalid parameters get a page with 400, no redirect, and the session stays', async (t) => {
  const { browser, idToken } = await signIn()
  const other = await registerClient(server, { client_name: 'Other' })
  const [header, payload, signature = ''] = idToken.split('.')
  const forged = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  for (const parameters of [
    { id_token_hint: forged },
    { id_token_hint: 'no.id.token' },
    { id_token_hint: idToken, client_id: other.clientId },
    { id_token_hint: idToken, post_logout_redirect_uri: 'https://evil.example/' },
    { id_token_hint: idToken, post_logout_redirect_uri: `${AFTER}/` },
    { client_id: other.clientId, post_logout_redirect_uri: AFTER },
    { post_logout_redirect_uri: AFTER },
    { client_id: ['portal', 'portal'] },
  ] satisfies Parameters[]) {
    const page = stay(await browser.visit(logoutUrl(parameters)))
    t.equal(page.status, 400, JSON.stringify(parameters).slice(0, 60))
  }
  t.equal(await isSignedIn(browser), true)
})

t.test('§2 of RP-Initiated Logout: an expired ID token of the signed-in person is accepted', async (t) => {
  const { browser, idToken } = await signIn()
  const { keys } = JSON.parse(readFileSync(join(server.dataDir, 'signing-keys.json'), 'utf8'))
  const key = keys.find(({ alg }: { readonly alg: string }) => alg === 'ES256')
  const expired = await new SignJWT({ ...decodeJwt(idToken), iat: 1_700_000_000, exp: 1_700_000_900 })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid })
    .sign(await importJWK(key, 'ES256'))
  server.secret(expired)
  const left = await browser.visit(logoutUrl({ id_token_hint: expired, post_logout_redirect_uri: AFTER }))
  t.equal(left.left && left.location.href, AFTER)
  t.equal(await isSignedIn(browser), false)
})

t.test(
  '§2 of RP-Initiated Logout: logout_hint causes no error, and ui_locales selects the language',
  async (t) => {
    const { browser } = await signIn()
    const page = stay(await browser.visit(logoutUrl({ logout_hint: 'alice', ui_locales: 'fr de' })))
    t.equal(page.status, 200)
    t.match(page.html, '<html lang="de"')
  },
)

t.test('§4 without a session, the browser is redirected, or sees that it is signed out', async (t) => {
  const browser = openBrowser(server.baseUrl)
  const left = await browser.visit(logoutUrl({ client_id: 'portal', post_logout_redirect_uri: AFTER }))
  t.equal(left.left && left.location.href, AFTER)
  const unescaped = await browser.visit(
    `${LOGOUT}?client_id=portal&post_logout_redirect_uri=${AFTER.replace('=', '%3D')}`,
  )
  t.equal(unescaped.left && unescaped.location.href, AFTER, 'a question mark in the query')
  t.match(stay(await browser.visit(LOGOUT)).html, 'You are signed out')
})

const client = await registerClient(server)
const browser = openBrowser(server.baseUrl)
const metadata = (await send(server.baseUrl + ENDPOINTS.openidConfiguration)).json
const userinfo = (token: string) => send(server.baseUrl + ENDPOINTS.userinfo, { token })
const ask = (overrides: Parameters, scope = 'openid') =>
  client.authorizeUrl(scope, makePkce().challenge, overrides)

/** Opens an authorization request, and returns the parameters of the redirect to the client. */
async function redirectOf(overrides: Parameters, by = browser): Promise<Record<string, string>> {
  const step = await by.visit(ask(overrides))
  if (!step.left) throw new Error(`no redirect to the client: ${step.status} ${step.url}`)
  return Object.fromEntries(step.location.searchParams)
}

t.test(
  '§2 of OpenID Connect Core: an ID token has iss, sub, aud, exp, iat and the nonce of its request',
  async (t) => {
    const startSeconds = Math.floor(Date.now() / 1_000)
    const overrides = { nonce: 'n+/=&1' }
    const { idToken } = await client.obtainTokens({ browser, scope: 'openid', overrides })
    const claims = decodeJwt(String(idToken))
    t.match(claims, { iss: server.baseUrl, sub: /^[!-~]{1,255}$/, aud: client.clientId, nonce: 'n+/=&1' })
    const { exp = 0, iat = 0, auth_time: authTime } = claims
    t.ok(iat >= startSeconds && iat <= Date.now() / 1_000 && exp === iat + 900, `iat ${iat}, exp ${exp}`)
    t.ok(Number.isInteger(authTime) && Number(authTime) <= iat, `auth_time ${authTime}`)
  },
)

t.test('§10.1 of OpenID Connect Core: a published key verifies the signature of an ID token', async (t) => {
  const { idToken } = await client.obtainTokens({ browser, scope: 'openid' })
  const { json } = await send(String(metadata['jwks_uri']))
  const keys = json as unknown as JSONWebKeySet
  const { protectedHeader } = await jwtVerify(String(idToken), createLocalJWKSet(keys), {
    issuer: server.baseUrl,
    audience: client.clientId,
  })
  t.ok((metadata['id_token_signing_alg_values_supported'] as string[]).includes(protectedHeader.alg))
  t.equal(keys.keys.filter(({ kid, use }) => kid === protectedHeader.kid && use === 'sig').length, 1)
})

t.test('§3.1.2.1 of OpenID Connect Core: scope openid selects an OpenID Connect request', async (t) => {
  const plain = await client.obtainTokens({ browser, scope: 'courses:read' })
  t.equal(plain.idToken, undefined)
  t.match(await userinfo(plain.accessToken), { status: 403, json: { error: 'insufficient_scope' } })
  t.type((await client.obtainTokens({ browser, scope: 'openid courses:read' })).idToken, 'string')
})

t.test(
  '§3.1.2.1 of OpenID Connect Core: the response to prompt=none is an error, never a page',
  async (t) => {
    const none = { prompt: 'none', state: 'of none' }
    t.match(await redirectOf(none, openBrowser(server.baseUrl)), {
      error: 'login_required',
      state: 'of none',
    })
    t.match(await redirectOf(none), { error: /^(consent|interaction)_required$/, state: 'of none' })
    t.match(
      await redirectOf({ prompt: 'none login' }),
      { error: 'invalid_request' },
      'none with another value',
    )
  },
)

t.test('§3.1.2.1 of OpenID Connect Core: prompt=login asks for a sign-in despite a session', async (t) => {
  const first = await client.obtainTokens({ browser, scope: 'openid' })
  const page = stay(await browser.visit(ask({ prompt: 'login' })))
  t.ok(page.forms.some(({ controls }) => controls.some(({ type }) => type === 'password')))
  const second = await client.obtainTokens({ browser, scope: 'openid', overrides: { prompt: 'login' } })
  const times = [first, second].map(({ idToken }) => Number(decodeJwt(String(idToken))['auth_time']))
  t.ok(Number(times[1]) >= Number(times[0]))
})

t.test('§3.1.2.1 of OpenID Connect Core: prompt=consent shows the consent page', async (t) => {
  const trusted = knownClient(server, {
    clientId: 'trusted',
    clientSecret: undefined,
    redirectUri: 'https://own.example/callback',
  })
  const url = (overrides: Parameters) => trusted.authorizeUrl('openid', makePkce().challenge, overrides)
  t.ok((await browser.visit(url({}))).left, 'a trusted integration needs no consent page')
  t.match(stay(await browser.visit(url({ prompt: 'consent' }))).html, 'Own application')
})

t.test(
  '§3.1.2.1 of OpenID Connect Core: the person of id_token_hint must be the signed-in person',
  async (t) => {
    const [own, other] = [
      await client.obtainTokens({ browser, scope: 'openid' }),
      openBrowser(server.baseUrl),
    ]
    const person = { username: 'bob', password: 'bob' }
    const { idToken } = await client.obtainTokens({ browser: other, scope: 'openid', person })
    const hinted = (hint: string | undefined) => redirectOf({ prompt: 'none', id_token_hint: hint })
    t.match(await hinted(idToken), { error: 'login_required' })
    t.match(await hinted(own.idToken), { error: /^(consent|interaction)_required$/ })
    t.match(await hinted('no.id.token'), { error: 'invalid_request' })
    const url = client.authorizeUrl('openid', makePkce().challenge, { id_token_hint: String(idToken) })
    const stranger = openBrowser(server.baseUrl)
    const [asked] = stay(await stranger.visit(url)).forms
    if (asked === undefined) throw new Error('no form')
    const left = await stranger.submit(asked, { username: 'alice', password: 'alice' })
    t.equal(
      left.left && left.location.searchParams.get('error'),
      'login_required',
      'another person signed in',
    )
  },
)

t.test('§3.1.2.1 of OpenID Connect Core: optional and unknown parameters cause no error', async (t) => {
  for (const each of [
    { display: 'touch' },
    { ui_locales: 'fr de' },
    { claims_locales: 'de' },
    { login_hint: 'alice@example.com' },
    { 'not-a-parameter': 'x', foo: '1' },
  ])
    t.equal(stay(await browser.visit(ask(each))).status, 200, JSON.stringify(each))
})

t.test('§3.1.2.1 of OpenID Connect Core: the authorization endpoint accepts only GET', async (t) => {
  const form = Object.fromEntries(ask({}).searchParams)
  const answer = await send(server.baseUrl + ENDPOINTS.authorization, { form })
  t.match(answer, { status: 405, json: { error: 'method_not_allowed' } })
  t.equal(answer.headers.get('allow'), 'GET')
})

t.test('§3.1.2.6 of OpenID Connect Core: a request object and registration are not supported', async (t) => {
  t.match(await redirectOf({ request: 'e30.e30.' }), { error: 'request_not_supported', state: 'a-state' })
  t.match(await redirectOf({ registration: '{}' }), { error: 'registration_not_supported' })
  const remote = await redirectOf({ request_uri: 'https://app.example/request.jwt' })
  t.match(remote, { error: 'request_uri_not_supported' })
  t.equal(metadata['request_uri_parameter_supported'], false)
  t.notOk(metadata['request_parameter_supported'])
})

t.test('§5.3.2 of OpenID Connect Core: userinfo returns the sub of the ID token, as JSON', async (t) => {
  const { accessToken, idToken } = await client.obtainTokens({ browser, scope: 'openid' })
  const answer = await userinfo(accessToken)
  t.match(answer.headers.get('content-type'), /^application\/json/)
  t.strictSame(answer.json, { sub: decodeJwt(String(idToken)).sub })
})

t.test('§5.3.3 of OpenID Connect Core: an error of userinfo has a bearer challenge', async (t) => {
  const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
  for (const [token, status, error] of [
    ['not-a-token', 401, 'invalid_token'],
    [accessToken, 403, 'insufficient_scope'],
  ] as const) {
    const answer = await userinfo(token)
    t.equal(answer.status, status)
    t.match(answer.headers.get('www-authenticate'), `Bearer error="${error}"`)
  }
})

t.test('§5.4 of OpenID Connect Core: the scopes profile and email select the claims', async (t) => {
  const claims = { profile: ['name', 'preferred_username'], email: ['email'] }
  for (const [scope, names] of Object.entries(claims)) {
    const { accessToken } = await client.obtainTokens({ browser, scope: `openid ${scope}` })
    t.same(Object.keys((await userinfo(accessToken)).json).toSorted(), [...names, 'sub'].toSorted())
  }
  for (const name of ['sub', ...Object.values(claims).flat()])
    t.ok((metadata['claims_supported'] as string[]).includes(name), name)
})

t.test('§5.5 of OpenID Connect Core: the parameter claims has no effect', async (t) => {
  t.equal(metadata['claims_parameter_supported'], false)
  const claims = JSON.stringify({ id_token: { email: { essential: true } }, userinfo: { email: null } })
  const tokens = await client.obtainTokens({ browser, scope: 'openid', overrides: { claims } })
  t.notOk('email' in decodeJwt(String(tokens.idToken)))
  t.strictSame(Object.keys((await userinfo(tokens.accessToken)).json), ['sub'])
})

t.test('§8 of OpenID Connect Core: a person has the same sub at all clients', async (t) => {
  t.same(metadata['subject_types_supported'], ['public'])
  const other = await registerClient(server)
  const tokens = [
    await client.obtainTokens({ browser, scope: 'openid' }),
    await other.obtainTokens({ browser, scope: 'openid' }),
  ]
  const [first, second] = tokens.map(({ idToken }) => decodeJwt(String(idToken)).sub)
  t.equal(first, second)
})

t.test('§11 of OpenID Connect Core: offline_access is accepted without effect', async (t) => {
  const tokens = await client.obtainTokens({ browser, scope: 'openid offline_access courses:read' })
  t.equal((await introspect(server, tokens.accessToken))['scope'], 'openid courses:read')
})

t.test(
  '§12.2 of OpenID Connect Core: the ID token of a refresh has the same iss, sub, aud and auth_time',
  async (t) => {
    const first = await client.obtainTokens({ browser, scope: 'openid', overrides: { nonce: 'n' } })
    const answer = await client.refresh(first.refreshToken)
    t.equal(answer.status, 200)
    const [before, after] = [first, client.readTokens(answer)].map(({ idToken }) =>
      decodeJwt(String(idToken)),
    )
    for (const name of ['iss', 'sub', 'aud', 'auth_time', 'azp']) t.same(after?.[name], before?.[name], name)
    t.ok(Number(after?.iat) >= Number(before?.iat))
  },
)

t.test('§3 of OpenID Connect Discovery: the metadata contains every required member', async (t) => {
  for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri'])
    t.equal(new URL(String(metadata[name])).origin, server.baseUrl, name)
  t.same(metadata['response_types_supported'], ['code'])
  t.ok((metadata['id_token_signing_alg_values_supported'] as string[]).includes('RS256'))
  t.ok((metadata['scopes_supported'] as string[]).includes('openid'))
  t.same((metadata['grant_types_supported'] as string[]).toSorted(), ['authorization_code', 'refresh_token'])
})

t.test('§3 of OpenID Connect Discovery: the published keys are public, and have kid and use', async (t) => {
  const { json } = await send(String(metadata['jwks_uri']))
  const keys = json['keys'] as readonly Readonly<Record<string, unknown>>[]
  t.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length)
  for (const key of keys) {
    t.match(key, { kid: /^\S+$/, use: 'sig', kty: /^(EC|OKP|RSA)$/ })
    for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) t.notOk(name in key, name)
  }
})

t.test(
  '§3 of OpenID Connect Discovery: op_tos_uri and op_policy_uri are the links of the operator',
  async (t) => {
    for (const path of [ENDPOINTS.openidConfiguration, ENDPOINTS.authorizationServerMetadata]) {
      const { op_tos_uri: terms, op_policy_uri: privacy } = (await send(server.baseUrl + path)).json
      t.strictSame({ terms, privacy }, links)
    }
  },
)

t.test('§4.2 of OpenID Connect Discovery: the metadata is JSON without empty members', async (t) => {
  const answer = await send(server.baseUrl + ENDPOINTS.openidConfiguration)
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^application\/json/)
  for (const [name, value] of Object.entries(answer.json))
    t.notSame(value, Array.isArray(value) ? [] : null, name)
})

t.test(
  '§4.3 of OpenID Connect Discovery: issuer is the prefix of the document and iss of ID tokens',
  async (t) => {
    t.equal(metadata['issuer'], server.baseUrl)
    const { idToken } = await client.obtainTokens({ browser, scope: 'openid' })
    t.equal(decodeJwt(String(idToken)).iss, metadata['issuer'])
  },
)

t.test('§5 of RFC 9470: without a sign-in of a requested class, the client gets an error', async (t) => {
  const unmet = { error: 'unmet_authentication_requirements', state: 'a-state', iss: server.baseUrl }
  t.match(await redirectOf({ acr_values: 'mfa phr' }), unmet)
})

t.test('§6.2 of RFC 9470: introspection returns the time of the sign-in', async (t) => {
  const { accessToken, idToken } = await client.obtainTokens({ browser, scope: 'openid' })
  const { auth_time: authTime, amr } = await introspect(server, accessToken)
  t.strictSame({ authTime, amr }, { authTime: decodeJwt(String(idToken))['auth_time'], amr: ['pwd'] })
})
