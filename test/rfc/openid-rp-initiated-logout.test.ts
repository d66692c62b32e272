import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { introspect } from '../fixtures/introspect.ts'
import { type Browser, openBrowser, type Page } from '../fixtures/open-browser.ts'
import { knownClient, registerClient } from '../fixtures/register-client.ts'
import { encodeParameters, type Parameters, send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const AFTER = 'https://app.example/signed-out?from=api'

const server = await startServer(t, {
  integrations: [
    {
      clientId: 'portal',
      clientName: 'Portal',
      redirectUris: ['https://app.example/callback'],
      postLogoutRedirectUris: [AFTER],
      clientSecretFile: undefined,
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
