import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SignInProvider } from '../../../authorization-server/config.ts'
import { SQLITE_FILE_NAME } from '../../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { main } from '../../../cli/main.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { aTerminal } from '../../fixtures/a-terminal.ts'
import { type OidcProduct, startOidcProvider } from '../../fixtures/an-oidc-provider.ts'
import { PROVIDER_CLIENT, startOpenidProvider } from '../../fixtures/an-openid-provider.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { makePkce, registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { signIn } from '../../fixtures/sign-in.ts'
import {
  audit,
  choose,
  clientSecretFile,
  comeBack,
  departure,
  finish,
  leave,
  page,
  SCOPE,
  type Started,
  settings,
  signInThrough,
  startWith,
} from '../../fixtures/sign-in-through-provider.ts'
import { type AuthorizationServer, startServer } from '../../fixtures/start-authorization-server.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const SHIPPED = join(findPackageRoot(), 'config')

function openStoreOf(t: Test, { dataDir }: AuthorizationServer): Store {
  const nowSeconds = () => Math.floor(Date.now() / 1_000)
  const store = openSqliteStore(join(dataDir, SQLITE_FILE_NAME), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  return store
}

t.test('a person signs in through a second instance of this server', async (t) => {
  const port = await quietPort()
  const company = await startServer(t, {
    integrations: [
      {
        clientId: PROVIDER_CLIENT,
        clientName: 'API platform',
        redirectUris: [`http://127.0.0.1:${port}${ENDPOINTS.signIn}/company/callback`],
        clientSecretFile,
      },
    ],
  })
  const started = await startWith(t, [settings(company.baseUrl)], { port })
  const { server } = started
  const subjects = new Set<unknown>()
  for (const round of [1, 2]) {
    const browser = openBrowser(server.baseUrl)
    const { request, verifier } = await leave(started, browser)
    t.equal(request.origin, company.baseUrl)
    const response = await signIn(openBrowser(company.baseUrl), request)
    const { claims } = await finish(
      started,
      browser,
      verifier,
      await comeBack(started, browser, response.search.slice(1)),
    )
    t.match(claims, { name: 'Alice Example', preferred_username: undefined }, `round ${round}`)
    t.notOk('email' in claims, 'the address was not verified')
    subjects.add(claims['sub'])
  }
  t.equal(subjects.size, 1, 'both sign-ins use the same account')
  const [subject] = subjects
  t.match(
    audit(server, 'account_added').filter((line) => line['account_origin'] === 'provider'),
    [{ subject, provider: 'company' }],
  )
  t.match(audit(server, 'signed_in'), [
    { subject, provider: 'company' },
    { subject, provider: 'company' },
  ])
})

const provider = await startOpenidProvider(t, { path: '/realms/main' })
const shared = await startWith(t, [settings(provider.issuer)])

t.test('the sign-in page has a button for each provider beside the local form', async (t) => {
  const other = settings('https://other.test', { name: 'other', title: '<b>Other</b>' })
  const started = await startWith(t, [settings(provider.issuer), other])
  const browser = openBrowser(started.server.baseUrl)
  const { signInPage } = await leave(started, browser)
  t.match(signInPage.html, 'Sign in with Example account</button>')
  t.match(signInPage.html, 'Sign in with &#60;b&#62;Other&#60;/b&#62;</button>')
  t.match(signInPage.html, 'name="password"')
  t.notMatch(signInPage.headers.get('content-security-policy') ?? '', 'form-action')
})

t.test(
  'without local accounts, the page has no password field, and a posted password is rejected',
  async (t) => {
    const started = await startWith(t, [settings(provider.issuer)], { local: false })
    const browser = openBrowser(started.server.baseUrl)
    const { signInPage } = await leave(started, browser)
    t.notMatch(signInPage.html, 'name="password"')
    const [form] = signInPage.forms
    if (form === undefined) throw new Error('no form')
    const action = form.action.replace('/provider/company', '/sign-in')
    const posted = await browser.submit({ ...form, action }, { username: 'alice', password: 'alice' })
    t.equal(page(posted).status, 403)
    const { claims } = await signInThrough(started, provider)
    t.match(claims, { name: 'Person One', email: 'one@example.com' })
  },
)

t.test('without local accounts, the commands for local accounts are rejected with the remedy', async (t) => {
  const { server } = await startWith(t, [settings(provider.issuer)], { local: false })
  const run = async (command: string, env: Readonly<Record<string, string>> = {}) => {
    const terminal = aTerminal({
      typed: 'correct horse battery staple',
      env: { SCOPEGATE_DATA_DIR: server.dataDir, ...env },
    })
    return { code: await main(command.split(' '), terminal), ...terminal.said }
  }
  // The configuration of this command has local accounts.
  t.equal((await run('account add erin')).code, 0)
  t.equal((await run('account disable erin')).code, 0)
  for (const command of [
    'account invite frank',
    'account reset-password erin',
    'account reset-password erin --link',
    'account enable erin',
  ])
    t.match(
      await run(command),
      { code: 1, err: 'signIn.local is false in authorization-server.yaml' },
      command,
    )
  t.match(await run('account show erin --json'), { code: 0, out: /"disabled": "/ })
  t.equal((await run('account show frank')).code, 1, 'no account is added')
  const configDir = t.testdir({
    'scopes.yaml': readFileSync(join(SHIPPED, 'scopes.yaml'), 'utf8'),
    'authorization-server.yaml': `${readFileSync(join(SHIPPED, 'authorization-server.yaml'), 'utf8')}
signIn:
  local: false
  providers:
    - { name: company, title: Company, issuer: 'https://login.test', clientId: us, clientSecretFile: ./secret }
`,
  })
  const added = await run('account add frank', { SCOPEGATE_CONFIG_DIR: configDir })
  t.match(added, { code: 1, err: 'signIn.local is false in authorization-server.yaml' })
  const page = await send(`${server.baseUrl}${ENDPOINTS.setPassword}?token=${'x'.repeat(43)}`)
  t.equal(page.status, 404)
})

t.test('the authentication request of the client reaches the provider', async (t) => {
  const browser = openBrowser(shared.server.baseUrl)
  const { request } = await leave(shared, browser, {
    prompt: 'login consent',
    max_age: '60',
    login_hint: 'one@example.com',
    acr_values: 'urn:example:mfa',
    ui_locales: 'de',
  })
  t.match(Object.fromEntries(request.searchParams), {
    prompt: 'login',
    max_age: '60',
    login_hint: 'one@example.com',
    acr_values: 'urn:example:mfa',
    ui_locales: 'de',
    redirect_uri: `${shared.server.baseUrl}${ENDPOINTS.signIn}/company/callback`,
  })
  provider.behavior = { claims: { auth_time: Math.floor(Date.now() / 1_000) - 3_600 } }
  t.teardown(() => {
    provider.behavior = {}
  })
  const old = page(await comeBack(shared, browser, provider.authorize(request)))
  t.equal(old.status, 502, 'an authentication older than max_age')
  t.match(audit(shared.server, 'sign_in_failed').at(-1), {
    provider: 'company',
    reason: 'invalid',
    detail: /auth_time/,
  })
})

t.test('auth_time of the provider becomes auth_time of the ID token', async (t) => {
  const browser = openBrowser(shared.server.baseUrl)
  const authTime = Math.floor(Date.now() / 1_000) - 20
  provider.behavior = { claims: { auth_time: authTime } }
  t.teardown(() => {
    provider.behavior = {}
  })
  const { request, verifier } = await leave(shared, browser, { max_age: '60' })
  const consent = await comeBack(shared, browser, provider.authorize(request))
  const { tokens } = await finish(shared, browser, verifier, consent)
  const [, body = ''] = tokens.idToken?.split('.') ?? []
  t.equal(JSON.parse(Buffer.from(body, 'base64url').toString()).auth_time, authTime)
})

t.test('a response works only in the browser that started the sign-in', async (t) => {
  const started = await startWith(t, [settings(provider.issuer)])
  const browser = openBrowser(started.server.baseUrl)
  const { request, verifier } = await leave(started, browser)
  const query = provider.authorize(request)

  const stranger = openBrowser(started.server.baseUrl)
  t.equal(page(await comeBack(started, stranger, query)).status, 403, 'a browser without cookies')
  await leave(started, stranger)
  t.equal(page(await comeBack(started, stranger, query)).status, 403, 'a browser with its own sign-in')
  const store = openStoreOf(t, started.server)
  t.equal(await store.accounts.findByIdentity(provider.issuer, 'person-1'), undefined)

  const { claims } = await finish(started, browser, verifier, await comeBack(started, browser, query))
  t.match(claims, { name: 'Person One' }, 'the first browser can still continue')
})

t.test('a response of the attacker does not sign in the victim', async (t) => {
  const [attacker, victim] = [openBrowser(shared.server.baseUrl), openBrowser(shared.server.baseUrl)]
  const stolen = new URLSearchParams(provider.authorize((await leave(shared, attacker)).request))
  const { request } = await leave(shared, victim)
  stolen.set('state', request.searchParams.get('state') ?? '')
  const shown = page(await comeBack(shared, victim, stolen.toString()))
  t.equal(shown.status, 502)
  t.match(shown.html, 'The response of Example account is not valid')
  t.match(audit(shared.server, 'sign_in_failed').at(-1), { detail: 'token endpoint: invalid_grant' })
})

t.test('a response works once, at the provider and the interaction of its state', async (t) => {
  const second = await startOpenidProvider(t)
  const started = await startWith(t, [
    settings(provider.issuer),
    settings(second.issuer, { name: 'second', title: 'Second' }),
  ])
  const browser = openBrowser(started.server.baseUrl)
  const { request, verifier } = await leave(started, browser)
  const query = provider.authorize(request)

  const elsewhere = page(await comeBack(started, browser, query, 'second'))
  t.equal(elsewhere.status, 400, 'the redirect URI of another provider')
  t.equal(page(await comeBack(started, browser, query, 'unknown')).status, 400)
  for (const wrong of [
    '',
    'state=x',
    `${query}&state=x`,
    query.replace(/state=[^&]+/, `state=${'A'.repeat(43)}`),
  ])
    t.equal(page(await comeBack(started, browser, wrong)).status, 400, wrong)

  const consent = page(await comeBack(started, browser, query))
  t.equal(consent.status, 200)
  const before = provider.paths.length
  t.equal(page(await comeBack(started, browser, query)).status, 400, 'a repeated response')
  t.equal(provider.paths.length, before, 'the server sent no request to the provider')
  t.match((await finish(started, browser, verifier, consent)).claims, { name: 'Person One' })
})

t.test('an authorization code of one provider does not work at another (mix-up)', async (t) => {
  const second = await startOpenidProvider(t)
  const started = await startWith(t, [
    settings(provider.issuer),
    settings(second.issuer, { name: 'second', title: 'Second' }),
  ])
  const browser = openBrowser(started.server.baseUrl)
  const { request } = await leave(started, browser)
  const mixed = new URLSearchParams(provider.authorize(request))
  mixed.set('iss', second.issuer)
  const shown = page(await comeBack(started, browser, mixed.toString()))
  t.equal(shown.status, 502)
  t.strictSame(second.paths, [], 'the second provider received nothing')
  t.strictSame(audit(started.server, 'signed_in'), [])
})

t.test('two tabs of one browser complete their own sign-ins in any order', async (t) => {
  const browser = openBrowser(shared.server.baseUrl)
  const [first, second] = [await leave(shared, browser), await leave(shared, browser)]
  for (const { request, verifier } of [second, first]) {
    const consent = await comeBack(shared, browser, provider.authorize(request))
    t.match((await finish(shared, browser, verifier, consent)).claims, { name: 'Person One' })
  }
})

t.test('an e-mail address never links accounts, and another subject is another account', async (t) => {
  const started = await startWith(t, [settings(provider.issuer)])
  const store = openStoreOf(t, started.server)
  const alice = await store.accounts.findByUsername('alice')
  t.equal(alice?.email, 'alice@example.com')
  t.teardown(() => {
    provider.behavior = {}
  })
  const claims = {
    email: 'alice@example.com',
    email_verified: true,
    preferred_username: 'alice',
    name: 'Alice',
  }
  provider.behavior = { claims }
  const one = await signInThrough(started, provider)
  t.match(one.claims, { email: 'alice@example.com', email_verified: true })
  t.not(one.claims['sub'], alice?.id)
  provider.behavior = { claims: { ...claims, sub: 'person-2' } }
  const two = await signInThrough(started, provider)
  t.not(two.claims['sub'], one.claims['sub'], 'a changed subject')
  provider.behavior = { claims: { name: 'Renamed', email_verified: false } }
  const three = await signInThrough(started, provider)
  t.equal(three.claims['sub'], one.claims['sub'])
  t.equal(three.claims['name'], 'Renamed', 'the data follow the provider')
  t.notOk('email' in three.claims || 'email_verified' in three.claims)
})

t.test('email_verified is not used for an address of another claim', async (t) => {
  const claims = { name: 'name', email: 'upn', groups: undefined, roles: undefined }
  const started = await startWith(t, [settings(provider.issuer, { claims })])
  t.teardown(() => {
    provider.behavior = {}
  })
  provider.behavior = { claims: { upn: 'one@corp.example', email_verified: true } }
  const { claims: sent } = await signInThrough(started, provider)
  t.equal(sent['email'], 'one@corp.example')
  t.notOk('email_verified' in sent)
})

t.test('the rules of admission exclude people, without an account', async (t) => {
  const admit = {
    emailDomains: ['example.com'],
    groups: ['staff'],
    claims: new Map([['hd', ['example.com']]]),
  }
  const started = await startWith(t, [
    settings(provider.issuer, {
      admit,
      claims: { name: 'name', email: 'email', groups: 'groups', roles: 'realm_access.roles' },
    }),
  ])
  t.teardown(() => {
    provider.behavior = {}
  })
  const good = { groups: ['staff', 'x'], hd: 'example.com', realm_access: { roles: ['editor'] } }
  const rows = [
    [{ email: 'one@evil.test' }, 'admit.emailDomains'],
    [{ email: 'one@example.com.evil.test' }, 'admit.emailDomains'],
    [{ email: 'one@evil.test@example.com' }, 'admit.emailDomains'],
    [{ email: 'one@sub.example.com' }, 'admit.emailDomains'],
    [{ email_verified: false }, 'admit.emailDomains'],
    [{ email_verified: 'true' }, 'admit.emailDomains'],
    [{ email_verified: undefined }, 'admit.emailDomains'],
    [{ email: undefined }, 'admit.emailDomains'],
    [{ groups: ['Staff'] }, 'admit.groups'],
    [{ groups: 'other' }, 'admit.groups'],
    [{ groups: { staff: true } }, 'admit.groups'],
    [{ groups: undefined }, 'admit.groups'],
    [
      { groups: undefined, _claim_names: { groups: 'src1' } },
      'admit.groups: the provider left out the groups',
    ],
    [{ hd: 'example.org' }, 'admit.claims.hd'],
    [{ hd: undefined }, 'admit.claims.hd'],
  ] as const
  for (const [change, detail] of rows) {
    const browser = openBrowser(started.server.baseUrl)
    provider.behavior = { claims: { ...good, ...change } }
    const { request } = await leave(started, browser)
    const shown = page(await comeBack(started, browser, provider.authorize(request)))
    t.equal(shown.status, 403, JSON.stringify(change))
    t.match(shown.html, 'Your Example account account may not use Learning platform.')
    t.match(audit(started.server, 'sign_in_failed').at(-1), { reason: 'not_admitted', detail })
  }
  const store = openStoreOf(t, started.server)
  t.equal(await store.accounts.findByIdentity(provider.issuer, 'person-1'), undefined)
  provider.behavior = { claims: good }
  await signInThrough(started, provider)
  t.match(await store.accounts.findByIdentity(provider.issuer, 'person-1'), {
    origin: 'provider',
    email: 'one@example.com',
    groups: ['staff', 'x'],
    roles: ['editor'],
    identity: { provider: 'company' },
  })
})

t.test('the consent page shows the e-mail address or the provider, not the random user name', async (t) => {
  t.teardown(() => {
    provider.behavior = {}
  })
  const rows = [
    [{}, 'Person One</bdi></strong> (<bdi>one@example.com</bdi>)'],
    [{ email: undefined }, 'Person One</bdi></strong> (<bdi>Example account</bdi>)'],
    [{ name: undefined }, 'one@example.com</bdi></strong> (<bdi>Example account</bdi>)'],
  ] as const
  for (const [claims, text] of rows) {
    provider.behavior = { claims }
    const browser = openBrowser(shared.server.baseUrl)
    const { request } = await leave(shared, browser)
    const consent = page(await comeBack(shared, browser, provider.authorize(request)))
    t.ok(consent.html.includes(text), text)
    t.notMatch(consent.html, 'company:')
  }
})

t.test('hostile claims are bounded and shown as text', async (t) => {
  const started = await startWith(t, [
    settings(provider.issuer, {
      claims: { name: 'name', email: 'email', groups: 'groups', roles: undefined },
    }),
  ])
  provider.behavior = {
    claims: {
      name: `<script>alert(1)</script>\u202e${'x'.repeat(5_000)}`,
      email: `${'x'.repeat(300)}@example.com`,
      groups: [...Array.from({ length: 2_000 }, (_, i) => `g${i}`), 'x'.repeat(300), 'a\nb', 7],
    },
  }
  t.teardown(() => {
    provider.behavior = {}
  })
  const browser = openBrowser(started.server.baseUrl)
  const { request } = await leave(started, browser)
  const consent = page(await comeBack(started, browser, provider.authorize(request)))
  t.match(consent.html, '&#60;script&#62;')
  t.notMatch(consent.html, '<script>')
  t.notMatch(consent.html, '\u202e')
  const store = openStoreOf(t, started.server)
  const account = await store.accounts.findByIdentity(provider.issuer, 'person-1')
  t.equal([...(account?.name ?? '')].length, 100)
  t.equal(account?.email, undefined)
  t.equal(account?.groups?.length, 500)
})

t.test('a disabled account cannot sign in, also in mid-flow', async (t) => {
  const started = await startWith(t, [settings(provider.issuer)])
  const store = openStoreOf(t, started.server)
  const { claims } = await signInThrough(started, provider)
  const browser = openBrowser(started.server.baseUrl)
  const { request } = await leave(started, browser)
  const query = provider.authorize(request)
  await store.accounts.setDisabled(String(claims['sub']), 1_000)
  const shown = page(await comeBack(started, browser, query))
  t.equal(shown.status, 403)
  t.match(shown.html, 'Your account of Learning platform is disabled.')
  t.match(audit(started.server, 'sign_in_failed'), [{ reason: 'disabled', detail: 'account' }])
  await store.accounts.setDisabled(String(claims['sub']), undefined)
  t.equal((await signInThrough(started, provider)).claims['sub'], claims['sub'])
})

t.test('while a provider is away, the page explains it, and the other ways work', async (t) => {
  const away = await startOpenidProvider(t)
  const started = await startWith(t, [
    settings(away.issuer),
    settings(provider.issuer, { name: 'second', title: 'Second' }),
  ])
  await away.stop()
  const { verifier, challenge } = makePkce()
  const browser = openBrowser(started.server.baseUrl)
  const first = page(await browser.visit(started.client.authorizeUrl(SCOPE, challenge)))
  const shown = page(await choose(browser, first))
  t.equal(shown.status, 503)
  t.match(shown.html, 'Example account does not respond.')
  t.match(audit(started.server, 'sign_in_failed'), [{ reason: 'unavailable', provider: 'company' }])

  const request = departure(await choose(browser, shown, 'second'))
  const consent = await comeBack(started, browser, provider.authorize(request), 'second')
  t.match((await finish(started, browser, verifier, consent)).claims, { name: 'Person One' })
  t.match(await localClaims(started), { name: 'Alice Example' })
})

async function localClaims(started: Started) {
  const browser = openBrowser(started.server.baseUrl)
  const { accessToken } = await started.client.obtainTokens({ browser, scope: SCOPE })
  const answer = await send(`${started.server.baseUrl}${ENDPOINTS.userinfo}`, {
    headers: { authorization: `Bearer ${accessToken}` },
  })
  return answer.json
}

t.test('a cancelled sign-in returns to the sign-in page', async (t) => {
  const browser = openBrowser(shared.server.baseUrl)
  const { request, verifier } = await leave(shared, browser)
  provider.behavior = { query: { code: undefined, error: 'access_denied', error_description: '<b>evil</b>' } }
  const query = provider.authorize(request)
  provider.behavior = {}
  const shown = page(await comeBack(shared, browser, query))
  t.equal(shown.status, 400)
  t.match(shown.html, 'You are not signed in: Example account did not complete the sign-in.')
  t.notMatch(shown.html, 'evil')
  const again = departure(await choose(browser, shown))
  const consent = await comeBack(shared, browser, provider.authorize(again))
  t.match((await finish(shared, browser, verifier, consent)).claims, { name: 'Person One' })
})

t.test('"Switch account" asks the provider for another account', async (t) => {
  const browser = openBrowser(shared.server.baseUrl)
  const { request } = await leave(shared, browser)
  t.equal(request.searchParams.get('prompt'), null)
  const consent = page(await comeBack(shared, browser, provider.authorize(request)))
  const switched = page(await browser.visit(`${consent.url.split('?')[0]}?account=other`))
  const next = departure(await choose(browser, switched))
  t.equal(next.searchParams.get('prompt'), 'select_account')
})

t.test('the start of a sign-in needs the token of the form', async (t) => {
  const browser = openBrowser(shared.server.baseUrl)
  const { signInPage } = await leave(shared, browser)
  const form = signInPage.forms.find(({ action }) => action.endsWith('/provider/company'))
  if (form === undefined) throw new Error('no form')
  t.equal(page(await browser.submit(form, { form_token: 'x' })).status, 403)
  const unknown = { ...form, action: form.action.replace('company', 'unknown') }
  t.equal(page(await browser.submit(unknown)).status, 400)
})

/** Starts oidc-provider with the behavior of a product, and a server that uses this provider. */
async function startWithProduct(t: Test, product: OidcProduct, overrides: Partial<SignInProvider>) {
  const port = await quietPort()
  const redirectUri = `http://127.0.0.1:${port}${ENDPOINTS.signIn}/company/callback`
  const company = await startOidcProvider(t, product, redirectUri)
  const started = await startWith(t, [settings(company.issuer, overrides)], { port })
  const enter = async () => {
    const browser = openBrowser(started.server.baseUrl)
    const { request, verifier } = await leave(started, browser)
    const response = departure(await openBrowser(company.issuer).visit(request))
    const shown = page(await comeBack(started, browser, response.search.slice(1)))
    return { shown, consent: () => finish(started, browser, verifier, shown) }
  }
  return { ...started, company, enter, accounts: openStoreOf(t, started.server).accounts }
}

t.test('people sign in through oidc-provider that behaves like Keycloak', async (t) => {
  const keycloak: OidcProduct = {
    path: '/realms/company',
    idTokenClaims: [
      ...['typ', 'azp', 'auth_time', 'acr', 'name', 'preferred_username', 'email', 'email_verified'],
      ...['groups', 'realm_access'],
    ],
    claims: {
      typ: 'ID',
      azp: PROVIDER_CLIENT,
      name: 'Person One',
      preferred_username: 'one',
      email: 'one@example.com',
      email_verified: true,
      groups: ['/staff', '/staff/editors'],
      realm_access: { roles: ['editor', 'offline_access'] },
    },
    acr: '1',
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    sendsIss: true,
    parameters: { session_state: '0a0a0a0a-0000-4000-8000-000000000000' },
  }
  const { company, enter, accounts } = await startWithProduct(t, keycloak, {
    claims: { name: 'name', email: 'email', groups: 'groups', roles: 'realm_access.roles' },
    admit: { emailDomains: ['example.com'], groups: ['/staff'], claims: new Map() },
  })
  const { consent } = await enter()
  t.match((await consent()).claims, { name: 'Person One', email: 'one@example.com' })
  t.match(await accounts.findByIdentity(company.issuer, 'person-1'), {
    groups: ['/staff', '/staff/editors'],
    roles: ['editor', 'offline_access'],
  })
  company.claims = { ...company.claims, groups: ['/other'] }
  t.equal((await enter()).shown.status, 403, 'a removed member of the group')
})

const TENANT = '0a0a0a0a-0000-4000-8000-000000000000'
const ENTRA: OidcProduct = {
  path: `/${TENANT}/v2.0`,
  idTokenClaims: ['tid', 'oid', 'ver', 'name', 'preferred_username', 'email', 'roles', 'groups'],
  claims: {
    tid: TENANT,
    oid: '0c0c0c0c-0000-4000-8000-000000000000',
    ver: '2.0',
    name: 'Person One',
    preferred_username: 'one@example.com',
    email: 'one@example.com',
    roles: ['editor'],
    groups: ['2c2c2c2c-0000-4000-8000-000000000000'],
  },
  clientAuthMethods: ['client_secret_post'],
  sendsIss: false,
  parameters: { session_state: '0b0b0b0b-0000-4000-8000-000000000000' },
}
/** Claims that Entra ID sends if a person is in too many groups to list in the token. */
const OVERAGE = {
  groups: undefined,
  _claim_names: { groups: 'src1' },
  _claim_sources: { src1: { endpoint: 'https://graph.microsoft.com/v1.0/users/0c0c/getMemberObjects' } },
}
const ENTRA_CLAIMS = { name: 'name', email: 'email', groups: 'groups', roles: 'roles' }

t.test('people sign in through oidc-provider that behaves like Entra ID', async (t) => {
  const { company, enter, accounts } = await startWithProduct(t, ENTRA, {
    claims: ENTRA_CLAIMS,
    admit: { emailDomains: [], groups: [], claims: new Map([['tid', [TENANT]]]) },
  })
  const { claims } = await (await enter()).consent()
  t.equal(claims['name'], 'Person One')
  t.notOk('email' in claims, 'Entra ID does not verify addresses')
  const account = () => accounts.findByIdentity(company.issuer, 'person-1')
  t.match(await account(), { roles: ['editor'], groups: ['2c2c2c2c-0000-4000-8000-000000000000'] })
  company.claims = { ...ENTRA.claims, ...OVERAGE }
  await (await enter()).consent()
  t.strictSame((await account())?.groups, [], 'a link in place of the groups')
  company.claims = { ...ENTRA.claims, tid: '0d0d0d0d-0000-4000-8000-000000000000' }
  t.equal((await enter()).shown.status, 403, 'another tenant')
})

t.test('a link of Entra ID in place of the groups is an error if admit.groups is set', async (t) => {
  const { server, company, enter, accounts } = await startWithProduct(t, ENTRA, {
    claims: ENTRA_CLAIMS,
    admit: { emailDomains: [], groups: ['2c2c2c2c-0000-4000-8000-000000000000'], claims: new Map() },
  })
  company.claims = { ...ENTRA.claims, ...OVERAGE }
  const { shown } = await enter()
  t.equal(shown.status, 403)
  t.match(shown.html, 'Your Example account account may not use Learning platform.')
  t.match(audit(server, 'sign_in_failed'), [
    { reason: 'not_admitted', detail: 'admit.groups: the provider left out the groups' },
  ])
  t.equal(await accounts.findByIdentity(company.issuer, 'person-1'), undefined)
  company.claims = ENTRA.claims
  t.equal((await enter()).shown.status, 200)
})

for (const format of ['opaque', 'jwt'] as const)
  t.test(`groups and roles reach introspection of ${format} access tokens, within a limit`, async (t) => {
    const mapped = settings(provider.issuer, {
      claims: { name: 'name', email: 'email', groups: 'groups', roles: 'roles' },
    })
    const server = await startServer(t, {
      signIn: { local: true, providers: [mapped] },
      accessTokens: { format, algorithm: 'ES256', resources: new Map() },
    })
    const started = { server, client: await registerClient(server) }
    t.teardown(() => {
      provider.behavior = {}
    })
    const introspect = async (token: string) => {
      const answer = await send(`${server.baseUrl}${ENDPOINTS.introspection}`, {
        form: { client_id: 'gateway', client_secret: server.gatewaySecret, token },
      })
      return answer.json
    }
    provider.behavior = { claims: { groups: ['staff', 'x'], roles: ['editor'] } }
    const { tokens } = await signInThrough(started, provider)
    t.match(await introspect(tokens.accessToken), { active: true, groups: ['staff', 'x'], roles: ['editor'] })
    const refreshed = started.client.readTokens(await started.client.refresh(tokens.refreshToken))
    t.match(await introspect(refreshed.accessToken), { groups: ['staff', 'x'], roles: ['editor'] })

    const many = Array.from({ length: 400 }, (_, index) => `group-${index}`)
    provider.behavior = { claims: { groups: many, roles: ['editor'] } }
    const large = await introspect((await signInThrough(started, provider)).tokens.accessToken)
    t.match(large, { active: true, roles: ['editor'] })
    t.notOk('groups' in large, 'the claim is too long for a token')
  })
