import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  createRememberedConsents,
  forgetConsent,
} from '../../../authorization-server/consent/remembered-consents.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { type Client, knownClient, makePkce, registerClient } from '../../fixtures/register-client.ts'
import { type AuthorizationServer, startServer } from '../../fixtures/start-authorization-server.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const CONSENT = {
  accountId: 'account-1',
  clientId: 'app',
  redirectUri: 'https://app.example.com/callback',
  scopes: ['openid', 'courses:read'],
  resources: ['https://api.example.com'],
}

const clock = (t: Test, includesLocalApps = false, rememberSeconds = 100) => {
  const time = { now: 1_000 }
  const nowSeconds = () => time.now
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  const options = { store, rememberSeconds, includesLocalApps, nowSeconds }
  return { time, options, store, consents: createRememberedConsents(options) }
}

t.test(
  'covers() is true only for the same client and redirect address, and for no more access',
  async (t) => {
    const { consents } = clock(t)
    t.equal(await consents.covers(CONSENT), false)
    await consents.remember(CONSENT)
    t.equal(await consents.covers(CONSENT), true)
    t.equal(await consents.covers({ ...CONSENT, scopes: ['openid'] }), true, 'fewer scopes')
    const others = {
      'another account': { accountId: 'account-2' },
      'another client': { clientId: 'app-2' },
      'another redirect address': { redirectUri: 'https://app.example.com/callback2' },
      'one more scope': { scopes: [...CONSENT.scopes, 'courses:write'] },
      'another resource': { resources: ['https://api.example.com/mcp'] },
      'one more resource': { resources: [...CONSENT.resources, 'https://api.example.com/mcp'] },
    }
    for (const [name, fields] of Object.entries(others))
      t.equal(await consents.covers({ ...CONSENT, ...fields }), false, name)
  },
)

t.test('a consent ends after the time that the current configuration sets', async (t) => {
  const { consents, options, time } = clock(t)
  await consents.remember(CONSENT)
  time.now += 99
  t.equal(await consents.covers(CONSENT), true)
  t.equal(await createRememberedConsents({ ...options, rememberSeconds: 99 }).covers(CONSENT), false)
  time.now += 1
  t.equal(await consents.covers(CONSENT), false)
  const off = createRememberedConsents({ ...options, rememberSeconds: 0 })
  await off.remember(CONSENT)
  t.equal(await off.covers(CONSENT), false)
})

t.test('the newest consent of a client replaces the earlier consent', async (t) => {
  const { consents } = clock(t)
  await consents.remember(CONSENT)
  await consents.remember({ ...CONSENT, scopes: ['openid'] })
  t.equal(await consents.covers(CONSENT), false)
})

t.test('consents of local apps are remembered only if the operator sets it', async (t) => {
  const local = [
    'http://127.0.0.1:5/callback',
    'http://[::1]:5/callback',
    'http://localhost:5/callback',
    'https://localhost/callback',
    'com.example.app:/callback',
  ]
  const save = async (t: Test, includesLocalApps: boolean): Promise<readonly boolean[]> => {
    const { consents } = clock(t, includesLocalApps)
    return Promise.all(
      local.map(async (redirectUri, index) => {
        const consent = { ...CONSENT, clientId: `app-${index}`, redirectUri }
        await consents.remember(consent)
        return consents.covers(consent)
      }),
    )
  }
  await t.test('by default', async (t) =>
    t.strictSame(await save(t, false), [false, false, false, false, false]),
  )
  await t.test('if set', async (t) => t.strictSame(await save(t, true), [true, true, true, true, true]))
})

t.test('the port of a loopback redirect can differ, its path cannot', async (t) => {
  const { consents } = clock(t, true)
  const covers = (redirectUri: string) => consents.covers({ ...CONSENT, redirectUri })
  for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
    await consents.remember({ ...CONSENT, redirectUri: `http://${host}:5000/callback` })
    t.equal(await covers(`http://${host}:6000/callback`), true, host)
    t.equal(await covers(`http://${host}:5000/other`), false, host)
    t.equal(await covers(`http://127.0.0.2:5000/callback`), false, host)
  }
  await consents.remember({ ...CONSENT, redirectUri: 'https://app.example.com:5000/callback' })
  t.equal(await covers('https://app.example.com:6000/callback'), false, 'no loopback address')
})

t.test('forgetConsent() and the removal of the account remove the consent', async (t) => {
  const { consents, store } = clock(t)
  const account = { id: 'account-1', username: 'carol', name: 'Carol', email: undefined, passwordHash: 'x' }
  await store.accounts.insert({ ...account, origin: 'operator', createdAtSeconds: 1 })
  for (const remove of [
    () => forgetConsent(store, 'account-1', 'app'),
    () => store.accounts.remove('account-1'),
  ]) {
    await consents.remember(CONSENT)
    await consents.remember({ ...CONSENT, accountId: 'account-2' })
    await remove()
    t.equal(await consents.covers(CONSENT), false)
    t.equal(await consents.covers({ ...CONSENT, accountId: 'account-2' }), true, 'another account')
  }
})

const integrations = [
  {
    clientId: 'web',
    clientName: 'Web app',
    redirectUris: ['https://web.example.com/a', 'https://web.example.com/b'],
    clientSecretFile: undefined,
    trusted: false,
  },
]
const webClient = (server: AuthorizationServer): Client =>
  knownClient(server, {
    clientId: 'web',
    clientSecret: undefined,
    redirectUri: 'https://web.example.com/a',
  })

/** Starts an authorization. Returns its code, or undefined if the server shows the consent page. */
const authorizeAgain = async (
  t: Test,
  client: Client,
  browser: ReturnType<typeof openBrowser>,
  { scope = 'openid courses:read courses:write', ...overrides }: Readonly<Record<string, string>> = {},
) => {
  const { verifier, challenge } = makePkce()
  const page = await browser.visit(client.authorizeUrl(scope, challenge, overrides))
  if (page.left) return { code: page.location.searchParams.get('code') ?? '', verifier, page }
  t.match(page.html, /wants to use your account/)
  return undefined
}

t.test('with a remembered consent, an authorization gets a new grant without the consent page', async (t) => {
  const server = await startServer(t, {
    integrations,
    consent: { rememberSeconds: 3_600, includesLocalApps: false },
  })
  const client = webClient(server)
  const browser = openBrowser(server.baseUrl)
  const scope = 'openid courses:read courses:write'
  const first = await client.obtainTokens({ browser, scope })
  const grantsOf = () =>
    server.log().flatMap(({ action, grant }) => (action === 'token_issued' ? [String(grant)] : []))
  const again = await authorizeAgain(t, client, browser)
  if (again === undefined) throw new Error('the server shows the consent page')
  server.secret(again.code)
  const tokens = client.readTokens(await client.exchange(again))
  t.equal(tokens.scope ?? scope, scope)
  t.equal(new Set(grantsOf()).size, 2, 'each authorization has its own grant')
  await client.revoke(first.refreshToken)
  t.equal((await client.refresh(tokens.refreshToken)).status, 200)
  const given = server.log().filter(({ action }) => action === 'consent_given')
  t.match(given, [
    { client_id: 'web', scopes: scope.split(' ') },
    { client_id: 'web', scopes: scope.split(' '), reason: 'remembered', request_id: /./ },
  ])
  t.notOk('reason' in (given[0] ?? {}))

  t.ok(await authorizeAgain(t, client, browser, { scope: 'openid', prompt: 'none' }), 'prompt=none')
  t.notOk(await authorizeAgain(t, client, browser, { prompt: 'consent' }), 'prompt=consent')
  t.notOk(await authorizeAgain(t, client, browser, { scope: 'openid orders:read' }), 'another scope')
  t.notOk(await authorizeAgain(t, client, browser, { redirect_uri: 'https://web.example.com/b' }))
  const remembered = server.log().filter(({ reason }) => reason === 'remembered')
  t.equal(remembered.length, 2, 'a request that shows the page creates no grant')
})

t.test('a consent to fewer scopes than requested does not cover the same request', async (t) => {
  const server = await startServer(t, {
    integrations,
    consent: { rememberSeconds: 3_600, includesLocalApps: false },
  })
  const client = webClient(server)
  const browser = openBrowser(server.baseUrl)
  const all = 'openid courses:read courses:write coupons:write pages:write school:write'
  const granted = await client.obtainTokens({ browser, scope: all })
  t.equal(granted.scope, 'openid courses:read')
  t.notOk(await authorizeAgain(t, client, browser, { scope: all }))
  t.ok(await authorizeAgain(t, client, browser, { scope: 'openid courses:read' }))
})

for (const includesLocalApps of [false, true])
  t.test(`a loopback client is ${includesLocalApps ? 'not ' : ''}asked again`, async (t) => {
    const server = await startServer(t, { consent: { rememberSeconds: 3_600, includesLocalApps } })
    const client = await registerClient(server)
    const browser = openBrowser(server.baseUrl)
    const scope = 'openid courses:read'
    await client.obtainTokens({ browser, scope })
    const other = { scope, redirect_uri: 'http://127.0.0.1:50000/callback' }
    t.equal((await authorizeAgain(t, client, browser, other)) !== undefined, includesLocalApps)
  })

t.test('without the setting, each authorization shows the consent page', async (t) => {
  const server = await startServer(t, { integrations })
  const client = webClient(server)
  const browser = openBrowser(server.baseUrl)
  await client.obtainTokens({ browser, scope: 'openid courses:read' })
  t.notOk(await authorizeAgain(t, client, browser, { scope: 'openid courses:read' }))
})
