import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { codeAt, STEP_SECONDS } from '../../../../authorization-server/accounts/totp.ts'
import { InteractionError } from '../../../../authorization-server/engine/interactions.ts'
import { DE } from '../../../../authorization-server/pages/messages/de.ts'
import { EN, type MessageKey } from '../../../../authorization-server/pages/messages/en.ts'
import type { Locale } from '../../../../authorization-server/pages/messages/message.ts'
import { SECOND_FACTOR_PATH } from '../../../../authorization-server/second-factor/account-second-factor-pages.ts'
import { StoreError } from '../../../../authorization-server/store/store.ts'
import { main } from '../../../../cli/main.ts'
import { ENDPOINTS } from '../../../../oauth/endpoints.ts'
import { sendDocument } from '../../../fixtures/a-document-host.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { startOpenidProvider } from '../../../fixtures/an-openid-provider.ts'
import { type PageAudit, SCHEMES, WINDOWS } from '../../../fixtures/audit-page.ts'
import { decodeBase32 } from '../../../fixtures/decode-base32.ts'
import { listenAsLoopbackClient } from '../../../fixtures/loopback-client.ts'
import { type Client, knownClient, makePkce, registerClient } from '../../../fixtures/register-client.ts'
import { settings } from '../../../fixtures/sign-in-through-provider.ts'
import { type AuthorizationServer, startServer } from '../../../fixtures/start-authorization-server.ts'
import { openForm, postForm, startPages } from '../../../fixtures/start-pages.ts'
import {
  ALL_SCOPES,
  agents,
  documentRequest,
  fillFields,
  INTEGRATION,
  server,
  signIn,
  WRITE_SCOPES,
} from './browser.ts'

/** A browser tab of a person, and the texts in the language of this person. */
export type Visit = {
  readonly page: Page
  readonly locale: Locale
  say(key: MessageKey, values?: Readonly<Record<string, string>>): string
}

/** A page of the server in one state. */
export type PageState = {
  readonly name: string
  /** Text of the `h1`, with its values. */
  readonly heading: MessageKey | readonly [MessageKey, Readonly<Record<string, string>>]
  /** Opens the page as a person does. The browser has no cookies, unless `keepsCookies` is true. */
  readonly open: (visit: Visit) => Promise<unknown>
  readonly keepsCookies?: boolean
  /** Checks of this state. */
  readonly check?: (t: Test, visit: Visit, audit: PageAudit) => Promise<unknown>
  /** Name of the picture in docs/images/. */
  readonly picture?: string
}

export function createVisit(page: Page, locale: Locale): Visit {
  const texts = { en: EN, de: DE }[locale]
  return {
    page,
    locale,
    say: (key, values = {}) =>
      texts[key].replace(/\{(\w+)\}/g, (_placeholder, name: string) => values[name] ?? ''),
  }
}

const FEW_SCOPES = 'openid profile courses:read courses:write orders:read'
const LONG_NAME = 'W'.repeat(100)

const app = await listenAsLoopbackClient(t)
const register = (name: string, at: AuthorizationServer = server) =>
  registerClient(at, { client_name: name, redirect_uris: [app.redirectUri] })
const planner = await register('Course planner')
const readingList = await register('Reading list')
const longNamed = await register(LONG_NAME)
const integration = knownClient(server, {
  clientId: INTEGRATION.clientId,
  clientSecret: undefined,
  redirectUri: INTEGRATION.redirectUris[0] ?? '',
})

// A server with the look of an operator, with two providers, and with a second factor for local accounts. The second
// provider is unavailable.
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30"><rect width="90" height="30" fill="#006040"/></svg>'
const folder = t.testdir({ 'logo.svg': LOGO, 'pages.css': 'h1 { letter-spacing: 3px; }\n' })
const provider = await startOpenidProvider(t)
const unavailable = await startOpenidProvider(t)
await unavailable.stop()
const COMPANY = 'Example account of the whole company'
const styled = await startServer(t, {
  look: {
    logo: join(folder, 'logo.svg'),
    css: join(folder, 'pages.css'),
    colors: {
      light: { accent: '#006040', background: '#fffdf5', text: '#20201c' },
      dark: { accent: '#7fe0b0', background: '#101a16', text: '#f2f5ee' },
    },
    links: {
      help: 'https://example.com/help',
      terms: 'https://example.com/terms',
      privacy: 'https://example.com/privacy',
    },
  },
  signIn: {
    local: true,
    providers: [
      settings(provider.issuer, {
        title: COMPANY,
        admit: { emailDomains: ['example.com'], groups: [], claims: new Map() },
      }),
      settings(unavailable.issuer, { name: 'away', title: 'Away' }),
    ],
    secondFactor: { acr: 'mfa', required: true },
  },
})
const styledClient = await register('Course planner', styled)

// A server without local accounts, which accepts one authorization request in each language.
const providersOnly = await startServer(t, {
  signIn: {
    local: false,
    providers: [settings(provider.issuer, { title: COMPANY })],
  },
  authorization: {
    rateLimit: { perAddress: 2, windowMs: 600_000 },
    pending: { perAddress: 200, total: 10_000 },
  },
})
const providersOnlyClient = await register('Course planner', providersOnly)

// The sign-in and consent pages without a server, for failures that a person cannot cause.
const started = Promise.withResolvers<void>()
const held = Promise.withResolvers<undefined>()
const failing = await startPages(t, {
  limits: {
    signIn: { failuresPerAccount: 1, failuresPerAddress: 100, windowMs: 60_000 },
    passwordHashes: { maxConcurrent: 1, maxQueue: 0 },
  },
  verify: async (username) => {
    if (username !== 'held') return undefined
    started.resolve()
    return held.promise
  },
})

t.teardown(() => held.resolve(undefined)) // runs before the teardown of the pages, which wait for open requests

/** Opens an authorization request of a client. */
function authorize(
  { page }: Visit,
  client: Client,
  scope = FEW_SCOPES,
  overrides: Record<string, string> = {},
) {
  return page.goto(client.authorizeUrl(scope, makePkce().challenge, overrides).href)
}

/** Opens the consent page: opens an authorization request, and signs in. */
async function openConsent(
  visit: Visit,
  client: Client,
  { scope, username = 'alice' }: { readonly scope?: string; readonly username?: string } = {},
): Promise<void> {
  await authorize(visit, client, scope)
  await signIn(visit.page, username)
  await allowButton(visit).waitFor()
}

function allowButton({ page, say }: Visit) {
  return page.getByRole('button', { name: say('consent.allow'), exact: true })
}

const AGENT = agents.domains[0] ?? ''
const AGENT_REDIRECT_URIS = {
  web: `https://${AGENT}/callback`,
  device: 'http://127.0.0.1/callback',
} as const

/** Opens the consent page of a client with a client document. */
async function openAgentConsent(visit: Visit, kind: keyof typeof AGENT_REDIRECT_URIS): Promise<void> {
  const clientId = `https://${AGENT}/agent`
  const redirectUris = Object.values(AGENT_REDIRECT_URIS)
  agents.host.respond(
    sendDocument({ client_id: clientId, client_name: 'Agent', redirect_uris: redirectUris }),
  )
  await visit.page.goto(documentRequest(clientId, AGENT_REDIRECT_URIS[kind]))
  await signIn(visit.page, 'alice')
  await allowButton(visit).waitFor()
}

/** Opens the account page, and signs in. */
async function openAccount({ page }: Visit, username: string): Promise<void> {
  await page.goto(server.baseUrl + ENDPOINTS.account)
  await signIn(page, username)
  await page.locator(`[action="${ENDPOINTS.account}/sign-out"]`).waitFor()
}

/** Clicks the first element of a selector, and waits for the next page. */
async function click({ page }: Visit, selector: string): Promise<void> {
  await Promise.all([page.waitForEvent('domcontentloaded'), page.locator(selector).first().click()])
}

/** Allows the access of two apps, then opens the account page. The account has sessions in several browsers. */
async function openAccountWithApps(visit: Visit): Promise<void> {
  await openConsent(visit, visit.locale === 'en' ? readingList : longNamed, { username: 'bob' })
  await click(visit, '.actions button')
  await authorize(visit, planner)
  await click(visit, '.actions button')
  await visit.page.goto(server.baseUrl + ENDPOINTS.account)
}

let invited = 0

/** Runs a command of the operator. Returns its JSON output. */
async function run(command: readonly string[], { dataDir }: AuthorizationServer) {
  const terminal = aTerminal({ env: { SCOPEGATE_DATA_DIR: dataDir } })
  const code = await main([...command, '--json'], terminal)
  if (code !== 0) throw new Error(`${command.join(' ')}: ${terminal.said.err}`)
  return JSON.parse(terminal.said.out)
}

/** Invites a new person, and opens the link of the invitation. */
async function openInvitation({ page }: Visit): Promise<void> {
  invited += 1
  const { link } = await run(['account', 'invite', `person-${invited}`, '--full-name', 'Dana Doe'], server)
  server.secret(new URL(link).searchParams.get('token') ?? '')
  await page.goto(link)
}

async function typePasswords(visit: Visit, password: string, repeated: string): Promise<void> {
  await fillFields(visit.page, { '#password': password, '#repeated': repeated })
  await click(visit, '.actions button')
}

/** Presses the button of the first provider. `response` changes the response of the provider. */
async function signInThroughProvider(visit: Visit, response: typeof provider.behavior): Promise<void> {
  provider.behavior = {
    reply: {
      '/authorize': (request, reply) => {
        const asked = new URL(request.url ?? '/', provider.issuer)
        const location = `${asked.searchParams.get('redirect_uri')}?${provider.authorize(asked)}`
        reply.writeHead(302, { location }).end()
      },
    },
    ...response,
  }
  await authorize(visit, styledClient)
  await click(visit, '[action$="/provider/company"] button')
}

/** Signs in to the server that requires a second factor. The people of the two languages have their own accounts. */
async function startSecondFactor(visit: Visit): Promise<void> {
  await authorize(visit, styledClient)
  await signIn(visit.page, visit.locale === 'en' ? 'alice' : 'bob')
  await visit.page.locator('#code').waitFor()
}

async function typeCode(visit: Visit, code: string): Promise<void> {
  await fillFields(visit.page, { '#code': code })
  await click(visit, '.actions button')
}

/** Types the code that an authenticator app shows for the key on the page. */
async function setUpSecondFactor(visit: Visit): Promise<void> {
  await startSecondFactor(visit)
  const key = (await visit.page.locator('.key code').textContent()) ?? ''
  styled.secret(key)
  await typeCode(visit, codeAt(decodeBase32(key), Math.floor(Date.now() / 1_000 / STEP_SECONDS)))
}

let isHeld = false

/** Starts a sign-in that occupies the only slot until the end of the tests. */
async function holdSignIn(): Promise<void> {
  if (isHeld) return
  isHeld = true
  const { cookie, token } = await openForm(failing)
  const body = { form_token: token, username: 'held', password: 'held' }
  void postForm(failing, 'sign-in', { cookie, body }).catch(() => undefined)
  await started.promise
}

/** Opens a page while the engine fails. */
async function openFailing({ page }: Visit, failure: Error | undefined): Promise<void> {
  failing.failure = failure
  await page.goto(`${failing.url}${ENDPOINTS.interaction}/${failing.interaction.uid}`)
  failing.failure = undefined
}

/** Checks that a person sees each permission to change data before the button that allows them, in each window. */
async function checkWriteScopes(t: Test, { page }: Visit, audit: PageAudit): Promise<void> {
  const names = await page.evaluate<readonly string[]>(
    `[...document.querySelectorAll('.scope.changes input')].map(({ name }) => name)`,
  )
  t.same(
    names,
    WRITE_SCOPES.map((name) => `scope.${name}`),
  )
  for (const window of WINDOWS) {
    await audit.setWindow(window)
    t.same(
      await audit.findHidden('.scope.changes, .scope.changes .badge', '.actions button'),
      [],
      window.name,
    )
  }
}

const SCHEME_COLORS = {
  light: { background: 'rgb(255, 253, 245)', text: 'rgb(32, 32, 28)', button: 'rgb(0, 96, 64)' },
  dark: { background: 'rgb(16, 26, 22)', text: 'rgb(242, 245, 238)', button: 'rgb(127, 224, 176)' },
} as const

/** Checks the settings `look` on a page. */
async function checkLook(t: Test, { page, say }: Visit): Promise<void> {
  const links = ['page.help', 'page.terms', 'page.privacy'] as const
  t.equal((await page.locator('footer p').textContent())?.trim(), links.map((key) => say(key)).join(' '))
  t.ok(await page.evaluate<boolean>('document.querySelector(".service img").naturalWidth > 0'), 'the logo')
  const style = (selector: string, property: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).${property}`)
  t.equal(await style('h1', 'letterSpacing'), '3px', 'the CSS of the operator applies')
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme })
    const { background, text, button } = SCHEME_COLORS[colorScheme]
    t.equal(await style('main', 'backgroundColor'), background, colorScheme)
    t.equal(await style('h1', 'color'), text, colorScheme)
    t.equal(await style('.actions button', 'backgroundColor'), button, colorScheme)
  }
}

const UNREADABLE = Object.assign(new Error('too large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE' })

/** The pages of the authorization server. To add a page or a state, add a row. */
export const PAGE_STATES: readonly PageState[] = [
  {
    name: 'sign-in',
    heading: 'signIn.title',
    open: (visit) => authorize(visit, planner),
    picture: 'sign-in',
  },
  {
    name: 'sign-in with a wrong password',
    heading: 'signIn.failedTitle',
    open: async (visit) => {
      await authorize(visit, planner)
      await signIn(visit.page, 'alice', 'wrong')
      await visit.page.getByRole('alert').waitFor()
    },
  },
  {
    name: 'sign-in with the look of the operator, and with providers',
    heading: 'signIn.title',
    open: (visit) => authorize(visit, styledClient),
    check: checkLook,
  },
  {
    name: 'sign-in with a provider only',
    heading: 'signIn.title',
    open: (visit) => authorize(visit, providersOnlyClient),
  },
  {
    name: 'sign-in with a provider that is unavailable',
    heading: 'signIn.failedTitle',
    open: async (visit) => {
      await authorize(visit, styledClient)
      await click(visit, '[action$="/provider/away"] button')
    },
  },
  {
    name: 'sign-in with an invalid response of the provider',
    heading: 'signIn.failedTitle',
    open: (visit) => signInThroughProvider(visit, { claims: { nonce: 'another' } }),
  },
  {
    name: 'sign-in that the person cancels at the provider',
    heading: 'signIn.failedTitle',
    open: (visit) => signInThroughProvider(visit, { query: { error: 'access_denied', code: undefined } }),
  },
  {
    name: 'sign-in with an account that the server does not admit',
    heading: 'signIn.failedTitle',
    open: (visit) => signInThroughProvider(visit, { claims: { email: 'one@other.example' } }),
  },
  {
    name: 'sign-in with a used response of the provider',
    heading: 'signIn.failedTitle',
    open: async (visit) => {
      await authorize(visit, styledClient)
      await visit.page.goto(`${visit.page.url()}/provider-response?state=used`)
    },
  },
  {
    name: 'consent',
    heading: ['consent.heading', { app: 'Course planner' }],
    open: (visit) => openConsent(visit, planner),
    picture: 'consent',
  },
  {
    name: 'consent without a selected scope',
    heading: ['consent.heading', { app: 'Course planner' }],
    open: async (visit) => {
      await openConsent(visit, planner)
      await click(visit, '.toggle')
      await click(visit, '.actions button')
      await visit.page.getByRole('alert').waitFor()
    },
  },
  {
    name: 'consent to 35 scopes',
    heading: ['consent.heading', { app: LONG_NAME }],
    open: (visit) => openConsent(visit, longNamed, { scope: ALL_SCOPES.join(' ') }),
    check: checkWriteScopes,
  },
  {
    name: 'consent to the sign-in only',
    heading: ['consent.heading', { app: 'Course planner' }],
    open: (visit) => openConsent(visit, planner, { scope: 'openid' }),
  },
  {
    name: 'consent of an integration',
    heading: ['consent.heading', { app: INTEGRATION.clientName }],
    open: (visit) => openConsent(visit, integration),
  },
  {
    name: 'consent of a hosted agent',
    heading: ['consent.heading', { app: AGENT }],
    open: (visit) => openAgentConsent(visit, 'web'),
  },
  {
    name: 'consent of a hosted agent on this device',
    heading: ['consent.heading', { app: AGENT }],
    open: (visit) => openAgentConsent(visit, 'device'),
  },
  {
    name: 'consent with the look of the operator',
    heading: ['consent.heading', { app: 'Course planner' }],
    open: async (visit) => {
      await signInThroughProvider(visit, {})
      await allowButton(visit).waitFor()
    },
    check: checkLook,
  },
  {
    name: 'set-up of the second factor',
    heading: 'secondFactor.setUpTitle',
    open: startSecondFactor,
  },
  {
    name: 'set-up of the second factor with a wrong code',
    heading: 'secondFactor.setUpFailedTitle',
    open: async (visit) => {
      await startSecondFactor(visit)
      await typeCode(visit, '000000')
    },
  },
  {
    name: 'recovery codes',
    heading: 'secondFactor.recoveryTitle',
    open: setUpSecondFactor,
  },
  {
    name: 'management of a second factor',
    heading: 'secondFactor.manageTitle',
    keepsCookies: true,
    open: async (visit) => {
      await click(visit, 'main a')
      await visit.page.goto(styled.baseUrl + SECOND_FACTOR_PATH)
    },
  },
  {
    name: 'management of a second factor with a wrong password',
    heading: 'secondFactor.manageTitle',
    keepsCookies: true,
    open: async (visit) => {
      await fillFields(visit.page, { '#password': 'wrong' })
      await typeCode(visit, '000000')
      await visit.page.getByRole('alert').waitFor()
    },
  },
  { name: 'code at sign-in', heading: 'secondFactor.title', open: startSecondFactor },
  {
    name: 'wrong code at sign-in',
    heading: 'secondFactor.failedTitle',
    open: async (visit) => {
      await startSecondFactor(visit)
      await typeCode(visit, '000000')
    },
  },
  {
    name: 'account without apps',
    heading: 'account.title',
    open: (visit) => openAccount(visit, 'bob'),
  },
  {
    name: 'account without a second factor',
    heading: 'secondFactor.manageTitle',
    keepsCookies: true,
    open: ({ page }) => page.goto(server.baseUrl + SECOND_FACTOR_PATH),
  },
  {
    name: 'account with two apps and several browsers',
    heading: 'account.title',
    open: openAccountWithApps,
    picture: 'account',
  },
  {
    name: 'account after the removal of an app',
    heading: 'account.title',
    keepsCookies: true,
    open: (visit) => click(visit, '.app button'),
  },
  {
    name: 'confirmation of a sign-out for an app',
    heading: 'logout.title',
    keepsCookies: true,
    open: ({ page }) =>
      page.goto(`${server.baseUrl}${ENDPOINTS.endSession}?client_id=${INTEGRATION.clientId}`),
  },
  {
    name: 'signed out',
    heading: 'account.signedOut',
    keepsCookies: true,
    open: (visit) => click(visit, '.actions button'),
  },
  { name: 'set password', heading: 'password.title', open: openInvitation },
  {
    name: 'set password with two different passwords',
    heading: 'password.failedTitle',
    open: async (visit) => {
      await openInvitation(visit)
      await typePasswords(visit, 'correct horse battery', 'another horse battery')
    },
  },
  {
    name: 'password is set',
    heading: 'password.doneTitle',
    open: async (visit) => {
      await openInvitation(visit)
      await typePasswords(visit, 'correct horse battery', 'correct horse battery')
    },
  },
  {
    name: 'invalid password link',
    heading: 'error.link_invalid.title',
    open: ({ page }) => page.goto(`${server.baseUrl}${ENDPOINTS.setPassword}?token=unknown`),
  },
  {
    name: 'invalid request of an app, with its details',
    heading: 'error.app.title',
    open: async (visit) => {
      await authorize(visit, planner, 'openid', { client_id: 'x'.repeat(200) })
      await visit.page.locator('summary').click()
    },
  },
  {
    name: 'finished interaction',
    heading: 'error.interaction_expired.title',
    open: async (visit) => {
      await authorize(visit, planner)
      const address = visit.page.url()
      await click(visit, 'button.quiet')
      await visit.page.goto(address)
    },
  },
  {
    name: 'form without its cookie',
    heading: 'error.form_refused.title',
    open: async (visit) => {
      await authorize(visit, planner)
      await visit.page.context().clearCookies({ name: 'scopegate-form' })
      await click(visit, 'button.quiet')
    },
  },
  {
    name: 'too many authorization requests',
    heading: 'error.rate_limited.title',
    open: async (visit) => {
      for (let requests = 0; requests < 3; requests += 1) await authorize(visit, providersOnlyClient)
    },
  },
  {
    name: 'too many sign-ins of one account',
    heading: 'error.too_many_attempts.title',
    open: async (visit) => {
      for (let attempts = 0; attempts < 2; attempts += 1) {
        await openFailing(visit, undefined)
        await signIn(visit.page, `throttled-${visit.locale}`, 'wrong')
      }
      await visit.page.locator('summary').waitFor()
    },
  },
  {
    name: 'too many concurrent sign-ins',
    heading: 'error.busy.title',
    open: async (visit) => {
      await holdSignIn()
      await openFailing(visit, undefined)
      await signIn(visit.page, `busy-${visit.locale}`)
      await visit.page.locator('summary').waitFor()
    },
  },
  ...(
    [
      ['error.other_browser.title', new InteractionError('ERR_INTERACTION_OTHER_BROWSER', 'other')],
      ['error.wrong_step.title', new InteractionError('ERR_INTERACTION_STEP', 'step')],
      ['error.form_unreadable.title', UNREADABLE],
      ['error.temporarily_unavailable.title', new StoreError('ERR_STORE_UNAVAILABLE', 'away')],
      ['error.server_error.title', new Error('failure')],
    ] as const
  ).map(([heading, failure]) => ({
    name: `failure: ${heading}`,
    heading,
    open: (visit: Visit) => openFailing(visit, failure),
  })),
]
