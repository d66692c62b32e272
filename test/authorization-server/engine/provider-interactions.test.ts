import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { type Browser, openBrowser } from '../../fixtures/open-browser.ts'
import { type Client, knownClient, makePkce, registerClient } from '../../fixtures/register-client.ts'
import type { Parameters } from '../../fixtures/send.ts'
import { startEngine, type TestEngine } from '../../fixtures/start-engine.ts'

type Result = Readonly<Record<string, unknown>>

/**
 * Starts an authorization in a browser. Returns the ID of the interaction, and a function that calls operations of the
 * interaction.
 */
async function authorize(
  client: Client,
  browser: Browser,
  { scope = 'openid courses:read', ...overrides }: Parameters = {},
) {
  const page = await browser.visit(client.authorizeUrl(String(scope), makePkce().challenge, overrides))
  if (page.left) throw new Error(`left for ${page.location.href}`)
  const { origin, pathname } = new URL(page.url)
  const operate = async (operation: string, query: Record<string, string> = {}): Promise<Result> => {
    const shown = await browser.visit(`${origin}${pathname}/${operation}?${new URLSearchParams(query)}`)
    if (shown.left) throw new Error(`left for ${shown.location.href}`)
    return JSON.parse(shown.html)
  }
  const uid = pathname.slice(ENDPOINTS.interaction.length + 1)
  return { uid, operate }
}

async function signIn(client: Client, browser: Browser, overrides: Parameters = {}, account = 'account-1') {
  const { operate } = await authorize(client, browser, overrides)
  const { address } = await operate('sign-in', { account })
  const page = await browser.visit(String(address))
  if (page.left) throw new Error(`left for ${page.location.href}`)
  const { origin, pathname } = new URL(page.url)
  return async (operation: string, query: Record<string, string> = {}): Promise<Result> => {
    const shown = await browser.visit(`${origin}${pathname}/${operation}?${new URLSearchParams(query)}`)
    return shown.left ? {} : JSON.parse(shown.html)
  }
}

const setUp = async (t: Test): Promise<{ on: TestEngine; client: Client; browser: Browser }> => {
  const on = await startEngine(t, {
    hasProviders: true, // a provider decides which classes of acr_values a sign-in can reach
    integrations: [
      {
        clientId: 'our-app',
        clientName: 'Our app',
        redirectUris: ['https://app.example.com/callback'],
        clientSecret: undefined,
      },
    ],
  })
  return { on, client: await registerClient(on), browser: openBrowser(on.baseUrl) }
}

t.test('read() returns every field of an interaction', async (t) => {
  const { on, client, browser } = await setUp(t)
  const first = await authorize(client, browser, {
    scope: 'courses:read openid offline_access courses:read',
    login_hint: 'carol',
    ui_locales: 'de en',
    resource: `${on.baseUrl}/mcp`,
  })
  const fields = {
    redirectUri: 'http://127.0.0.1:49152/callback',
    scopes: ['courses:read', 'openid'],
    resources: [`${on.baseUrl}/mcp`],
  }
  t.strictSame(await first.operate('read'), {
    uid: first.uid,
    prompt: 'sign-in',
    client: { id: client.clientId, name: 'Flow test', verified: false },
    loginHint: 'carol',
    requested: { prompt: [], uiLocales: 'de en' },
    ...fields,
  })
  const { address } = await first.operate('sign-in')
  const consent = await browser.visit(String(address))
  const read = consent.left ? {} : JSON.parse(consent.html)
  t.strictSame(read, {
    uid: read.uid,
    prompt: 'consent',
    client: { id: client.clientId, name: 'Flow test', verified: false },
    accountId: 'account-1',
    loginHint: 'carol',
    requested: { prompt: [], uiLocales: 'de en' },
    ...fields,
  })
  t.not(read.uid, first.uid)
})

t.test('read() returns the authentication that the client requests', async (t) => {
  const { client, browser } = await setUp(t)
  const { operate } = await authorize(client, browser, {
    prompt: 'login consent',
    max_age: '60',
    acr_values: 'urn:example:mfa urn:example:pwd',
    ui_locales: 'de en',
  })
  t.strictSame((await operate('read'))['requested'], {
    prompt: ['login', 'consent'],
    maxAgeSeconds: 60,
    acrValues: 'urn:example:mfa urn:example:pwd',
    uiLocales: 'de en',
  })
})

t.test('read() marks an integration as verified, and defaults to the issuer as resource', async (t) => {
  const { on, browser } = await setUp(t)
  const integration = knownClient(on, {
    clientId: 'our-app',
    clientSecret: undefined,
    redirectUri: 'https://app.example.com/callback',
  })
  const { operate } = await authorize(integration, browser)
  const { client, resources, loginHint } = await operate('read')
  t.strictSame(client, { id: 'our-app', name: 'Our app', verified: true })
  t.strictSame(resources, [on.baseUrl])
  t.equal(loginHint, undefined)
})

t.test('an interaction is available only in its browser and at its address', async (t) => {
  const { client, browser, on } = await setUp(t)
  const one = await authorize(client, browser)
  const stranger = await openBrowser(on.baseUrl).visit(
    `${on.baseUrl}${ENDPOINTS.interaction}/${one.uid}/read`,
  )
  t.strictSame(stranger.left ? {} : JSON.parse(stranger.html), {
    code: 'ERR_INTERACTION_EXPIRED',
    name: 'InteractionError',
    message: 'the interaction expired or is already complete',
    cause: 'invalid_request',
  })
  const [cookie] = [...browser.cookies.values()].filter(({ name }) => name === 'scopegate_interaction')
  const signature = [...browser.cookies.values()].find(({ name }) => name === 'scopegate_interaction.sig')
  const answer = await fetch(`${on.baseUrl}${ENDPOINTS.interaction}/another-uid/read`, {
    headers: {
      cookie: `scopegate_interaction=${cookie?.value}; scopegate_interaction.sig=${signature?.value}`,
    },
  })
  t.strictSame(await answer.json(), {
    code: 'ERR_INTERACTION_OTHER_BROWSER',
    name: 'InteractionError',
    message: 'the URL and the cookie belong to different interactions',
  })
})

t.test('an interaction has expired when its client was deleted', async (t) => {
  const { client, browser, on } = await setUp(t)
  const { operate } = await authorize(client, browser)
  await on.store.artifacts('Client').destroy(client.clientId)
  t.strictSame(await operate('read'), {
    code: 'ERR_INTERACTION_EXPIRED',
    name: 'InteractionError',
    message: 'the interaction expired or is already complete',
    cause: 'the client no longer exists',
  })
})

t.test('consent requires a signed-in person, and only requested scopes', async (t) => {
  const { client, browser } = await setUp(t)
  const { operate } = await authorize(client, browser)
  const step = { code: 'ERR_INTERACTION_STEP', name: 'InteractionError' }
  t.strictSame(await operate('consent', { scopes: 'openid' }), {
    ...step,
    message: 'the interaction expects login',
  })
  const consent = await signIn(client, browser)
  t.strictSame(await consent('consent', { scopes: 'openid courses:write profile' }), {
    ...step,
    message: 'the client did not request courses:write profile',
  })
})

t.test('consent requires the account of the session', async (t) => {
  const { client, browser, on } = await setUp(t)
  const consent = await signIn(client, browser)
  const interactions = on.store.artifacts('Interaction')
  const { uid } = await consent('read')
  const { session: _session, ...rest } = (await interactions.find(String(uid))) ?? {}
  await interactions.upsert(String(uid), rest, 60)
  t.strictSame(await consent('consent', { scopes: 'openid' }), {
    code: 'ERR_INTERACTION_STEP',
    name: 'InteractionError',
    message: 'consent requires a signed-in person',
  })
})

t.test('consent grants the chosen scopes and openid, and withholds the others', async (t) => {
  const { client, browser, on } = await setUp(t)
  const scope = 'openid courses:read courses:write'
  const consent = await signIn(client, browser, { scope, resource: `${on.baseUrl}/mcp` })
  const { address } = await consent('consent', { scopes: 'courses:read' })
  const left = await browser.visit(String(address))
  const code = left.left ? left.location.searchParams.get('code') : ''
  t.match(code, /^[\w-]{43}$/)
  const grantId = await grantOf(on, String(code))
  const grant = await on.store.artifacts('Grant').find(grantId)
  t.match(grant, {
    accountId: 'account-1',
    clientId: client.clientId,
    openid: { scope: 'openid courses:read' },
    resources: { [`${on.baseUrl}/mcp`]: 'openid courses:read' },
    rejected: {
      openid: { scope: 'courses:write' },
      resources: { [`${on.baseUrl}/mcp`]: 'courses:write' },
    },
  })
})

t.test('consent without scopes grants no scope, and consent to all scopes withholds no scope', async (t) => {
  const { client, browser, on } = await setUp(t)
  const none = await signIn(client, browser, { scope: 'courses:read' })
  await none('consent')
  const [nothing] = await grants(on)
  t.strictSame(nothing, {
    rejected: { openid: { scope: 'courses:read' }, resources: { [on.baseUrl]: 'courses:read' } },
  })
  const all = await signIn(client, openBrowser(on.baseUrl), { scope: 'courses:read' })
  await all('consent', { scopes: 'courses:read' })
  t.strictSame((await grants(on)).at(-1), {
    openid: { scope: 'courses:read' },
    resources: { [on.baseUrl]: 'courses:read' },
  })
})

t.test('a client does not expire after it got a grant', async (t) => {
  const { client, browser, on } = await setUp(t)
  const expiry = () => on.rows('Client').map((row) => row['expires_at'])
  t.match(expiry(), [Number])
  const consent = await signIn(client, browser)
  t.match(expiry(), [Number], 'a sign-in is not a grant')
  await consent('consent', { scopes: 'openid' })
  t.strictSame(expiry(), [null])
  t.match(await on.store.artifacts('Client').find(client.clientId), { client_id: client.clientId })
})

t.test('a cancelled request returns access_denied with a description', async (t) => {
  const { client, browser, on } = await setUp(t)
  const { operate } = await authorize(client, browser)
  const { address } = await operate('cancel')
  const left = await browser.visit(String(address))
  t.strictSame(left.left ? Object.fromEntries(left.location.searchParams) : {}, {
    error: 'access_denied',
    error_description: 'The person denied access.',
    state: 'a-state',
    iss: on.baseUrl,
  })
  t.match(await operate('cancel'), { code: 'ERR_INTERACTION_EXPIRED' }, 'the interaction is finished')
})

t.test('a sign-in ends an existing session only if the session belongs to another account', async (t) => {
  const { client, browser, on } = await setUp(t)
  const first = await signIn(client, browser)
  await first('consent', { scopes: 'openid' })
  const same = await authorize(client, browser, { prompt: 'login' })
  const again = await same.operate('sign-in')
  t.strictSame(Object.keys(again), ['address'], 'the same account')
  await browser.visit(String(again['address']))
  const other = await authorize(client, browser, { prompt: 'login' })
  t.match(await other.operate('sign-in', { account: 'account-2' }), { signedOut: 'account-1' })
  t.equal(on.rows('Session').length, 0)
})

t.test('a sign-in is recorded with the password as its method', async (t) => {
  const { client, browser, on } = await setUp(t)
  await signIn(client, browser)
  const [session] = on.rows('Session').map(({ payload }) => JSON.parse(String(payload)))
  t.match(session, { accountId: 'account-1', amr: ['pwd'] })
})

async function grantOf(on: TestEngine, code: string): Promise<string> {
  return String((await on.store.artifacts('AuthorizationCode').find(code))?.['grantId'])
}

/** Returns the granted and withheld scopes of each grant, oldest first. */
async function grants(on: TestEngine): Promise<readonly unknown[]> {
  return on.rows('Grant').map(({ payload }) => {
    const { openid, resources, rejected } = JSON.parse(String(payload))
    return JSON.parse(JSON.stringify({ openid, resources, rejected }))
  })
}
