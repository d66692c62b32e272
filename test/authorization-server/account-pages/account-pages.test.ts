import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { accountPage } from '../../../authorization-server/account-pages/account-page.ts'
import { SQLITE_FILE_NAME } from '../../../authorization-server/store/open-store.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { introspect } from '../../fixtures/introspect.ts'
import { type Browser, openBrowser, type Page } from '../../fixtures/open-browser.ts'
import type { Form } from '../../fixtures/parse-forms.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const ACCOUNT = `${server.baseUrl}${ENDPOINTS.account}`
const SCOPE = 'openid courses:read courses:write'

const isActive = async (token: string): Promise<unknown> => (await introspect(server, token))['active']
const audits = (): readonly unknown[] =>
  server.log().flatMap(({ event, action }) => (event === 'audit' ? [action] : []))

async function signInAtPage(
  browser: Browser,
  person = { username: 'alice', password: 'alice' },
): Promise<Page> {
  const start = await browser.visit(ACCOUNT)
  if (start.left) throw new Error('the server redirected to another origin')
  const [form] = start.forms
  if (form === undefined) throw new Error('the page has no form')
  return stay(await browser.submit(form, person))
}

function stay(page: Awaited<ReturnType<Browser['visit']>>): Page {
  if (page.left) throw new Error(`the browser left to ${page.location}`)
  return page
}

function fieldOf({ fields }: Form, name: string): string {
  return fields.find(([key]) => key === name)?.[1] ?? ''
}

/** Submits the form with this action. If several forms have the action, `index` selects the form. */
async function submit(browser: Browser, page: Page, step: string, index = 0): Promise<Page> {
  const forms = page.forms.filter(({ action }) => action.endsWith(`${ENDPOINTS.account}/${step}`))
  const form = forms[index]
  if (form === undefined) throw new Error(`the page has no form for ${step}`)
  return stay(await browser.submit(form))
}

async function allowApp(name: string, person?: { readonly username: string; readonly password: string }) {
  const client = await registerClient(server, { client_name: name })
  const browser = openBrowser(server.baseUrl)
  const tokens = await client.obtainTokens({ browser, scope: SCOPE, ...(person ? { person } : {}) })
  return { client, tokens, browser }
}

t.test('a person without a session signs in, and sees an account without apps', async (t) => {
  const browser = openBrowser(server.baseUrl)
  t.match(stay(await browser.visit(ACCOUNT)).html, 'to continue to <strong><bdi>your account</bdi></strong>')
  const page = await signInAtPage(browser, { username: 'bob', password: 'bob' })
  t.equal(page.status, 200)
  t.equal(page.url, ACCOUNT)
  t.match(page.html, 'No app has access to your account.')
  t.match(page.html, 'Only this browser is signed in to your account.')
  t.match(page.headers.get('content-security-policy'), "form-action 'self'")
  t.equal(page.headers.get('cache-control'), 'no-store')
  t.notOk(audits().includes('consent_given'), 'the page asks for no consent')
})

t.test('the page shows each app with its permissions, and removes the access of one app', async (t) => {
  const [one, two] = [await allowApp('First app'), await allowApp('<b>Second</b> app')]
  const browser = openBrowser(server.baseUrl)
  const page = await signInAtPage(browser)
  t.match(page.html, 'First app')
  t.match(page.html, '&#60;b&#62;Second&#60;/b&#62; app', 'names are shown as text')
  t.match(page.html, /<li>[^<]+ <span class="badge changes">can change<\/span><\/li>/)
  t.match(page.html, /Access since <time datetime="[^"]+Z">/)
  const shown = page.forms
    .filter(({ action }) => action.endsWith('/remove'))
    .map((form) => fieldOf(form, 'client'))
  t.strictSame(shown.sort(), [one.client.clientId, two.client.clientId].sort())
  const removed = await submit(browser, page, 'remove', shown.indexOf(one.client.clientId))
  t.match(removed.html, 'The app has no access to your account any more.')
  const left = [one, two].find(({ client }) => removed.html.includes(client.clientId))
  const gone = [one, two].find((app) => app !== left)
  t.equal(await isActive(String(gone?.tokens.accessToken)), false)
  t.equal(await isActive(String(left?.tokens.accessToken)), true)
  t.equal((await gone?.client.refresh(gone.tokens.refreshToken))?.status, 400)
  t.ok(audits().includes('access_removed'))
})

t.test('a person removes the access of all apps', async (t) => {
  const apps = [await allowApp('Third app'), await allowApp('Fourth app')]
  const browser = openBrowser(server.baseUrl)
  const page = await submit(browser, await signInAtPage(browser), 'remove-all')
  t.match(page.html, 'No app has access to your account any more.')
  for (const { tokens } of apps) t.equal(await isActive(tokens.accessToken), false)
})

t.test('the page shows the result of a form only in the browser that sent the form', async (t) => {
  await allowApp('Removed app')
  const [browser, other] = [openBrowser(server.baseUrl), openBrowser(server.baseUrl)]
  const removed = await submit(browser, await signInAtPage(browser), 'remove')
  const said = 'The app has no access to your account any more.'
  t.match(removed.html, said)
  await signInAtPage(other)
  t.notMatch(stay(await other.visit(removed.url)).html, said)
  const others = removed.url.replace('done=removed', 'done=signed-out-others')
  t.notMatch(stay(await browser.visit(others)).html, 'All other browsers are signed out.')
  t.notMatch(stay(await browser.visit(`${ACCOUNT}?done=removed`)).html, said)
})

t.test('an app of another account is neither shown nor removed', async (t) => {
  const { client, tokens } = await allowApp('App of bob', { username: 'bob', password: 'bob' })
  await allowApp('App of alice')
  const browser = openBrowser(server.baseUrl)
  const page = await signInAtPage(browser)
  t.notMatch(page.html, 'App of bob')
  const [form] = page.forms.filter(({ action }) => action.endsWith('/remove'))
  if (form === undefined) throw new Error('the page has no form')
  await browser.submit(form, { client: client.clientId })
  t.equal(await isActive(tokens.accessToken), true)
})

t.test('sign-out ends the session of this browser only, and tokens stay valid', async (t) => {
  const { tokens } = await allowApp('Fifth app')
  const [browser, other] = [openBrowser(server.baseUrl), openBrowser(server.baseUrl)]
  const page = await signInAtPage(browser)
  await signInAtPage(other)
  const out = await submit(browser, page, 'sign-out')
  t.match(out.html, 'You are signed out')
  t.match(stay(await browser.visit(ACCOUNT)).html, 'name="password"')
  t.match(stay(await other.visit(ACCOUNT)).html, 'Your account')
  t.equal(await isActive(tokens.accessToken), true)
})

t.test('a person signs out all other browsers', async (t) => {
  const [browser, other] = [openBrowser(server.baseUrl), openBrowser(server.baseUrl)]
  await signInAtPage(other)
  const start = await signInAtPage(browser)
  const before = audits().length
  const page = await submit(browser, start, 'sign-out-others')
  t.ok(audits().slice(before).includes('signed_out'))
  t.match(page.html, 'All other browsers are signed out.')
  t.match(page.html, 'Only this browser is signed in to your account.')
  t.match(stay(await other.visit(ACCOUNT)).html, 'name="password"')
})

t.test('a form without the token of this session is rejected', async (t: Test) => {
  const { tokens } = await allowApp('Sixth app')
  const [browser, other] = [openBrowser(server.baseUrl), openBrowser(server.baseUrl)]
  const [page, foreign] = [await signInAtPage(browser), await signInAtPage(other)]
  const [form] = page.forms.filter(({ action }) => action.endsWith('/remove'))
  const [stolen] = foreign.forms.filter(({ action }) => action.endsWith('/remove'))
  if (form === undefined || stolen === undefined) throw new Error('the page has no form')
  for (const token of ['', 'wrong', fieldOf(stolen, 'form_token')]) {
    const rejected = stay(await browser.submit(form, { form_token: token }))
    t.equal(rejected.status, 403)
    t.match(rejected.html, 'We could not verify your request')
  }
  t.equal(await isActive(tokens.accessToken), true)
  const anonymous = await send(`${ACCOUNT}/remove-all`, { form: { form_token: 'x' } })
  t.equal(anonymous.status, 303)
  t.equal(anonymous.headers.get('location'), ENDPOINTS.account)
})

t.test('a person who cancels the sign-in is not sent to the sign-in again', async (t) => {
  const browser = openBrowser(server.baseUrl)
  const start = stay(await browser.visit(ACCOUNT))
  const cancel = start.forms.find(({ action }) => action.endsWith('/cancel'))
  if (cancel === undefined) throw new Error('the page has no form to cancel')
  const page = stay(await browser.submit(cancel))
  t.equal(page.status, 200)
  t.match(page.html, 'Sign in to see your account')
})

t.test('ui_locales selects German', async (t) => {
  const page = stay(
    await openBrowser(server.baseUrl).visit(`${server.baseUrl}${ENDPOINTS.endSession}?ui_locales=de`),
  )
  t.match(page.html, '<html lang="de">')
  t.match(page.html, 'Sie sind abgemeldet')
})

t.test('the page shows 100 of 120 apps, and one form for all of them', async (t) => {
  const app = { name: 'One of many', verified: false, scopes: [], firstGrantSeconds: 1, lastTokenSeconds: 2 }
  const { body } = accountPage({
    account: { name: 'Alice', username: 'alice', email: undefined },
    apps: Array.from({ length: 120 }, (_, at) => ({ ...app, clientId: `client-${at}` })),
    sessions: 1,
    signedInSeconds: 1,
    catalogue: new Map(),
    done: undefined,
    locale: 'en',
    formToken: 'token',
    path: ENDPOINTS.account,
  })
  t.equal([...String(body).matchAll(/One of many/g)].length, 100)
  t.match(String(body), '20 more apps have access.')
  t.match(String(body), 'Remove all 120 apps')
})

t.test('the page shows the time of the last refresh', async (t) => {
  const { client, tokens } = await allowApp('Refreshed app', { username: 'bob', password: 'bob' })
  client.readTokens(await client.refresh(tokens.refreshToken))
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME))
  t.teardown(() => database.close())
  const { changes } = database
    .prepare(
      "update artifacts set payload = json_set(payload, '$.usedAtSeconds', ?) where model = 'GrantUse'",
    )
    .run(Date.UTC(2020, 0, 2) / 1_000)
  t.equal(changes, 1)
  const browser = openBrowser(server.baseUrl)
  const page = await signInAtPage(browser, { username: 'bob', password: 'bob' })
  t.match(page.html, 'Last used: <time datetime="2020-01-02T00:00:00')
})

t.test('too many requests of an address get 429', async (t) => {
  const limited = await startServer(t, {
    authorization: {
      rateLimit: { perAddress: 1, windowMs: 600_000 },
      pending: { perAddress: 10, total: 10 },
    },
  })
  const url = `${limited.baseUrl}${ENDPOINTS.account}`
  t.equal((await send(url)).status, 303)
  const rejected = await send(url)
  t.equal(rejected.status, 429)
  t.ok(Number(rejected.headers.get('retry-after')) > 0)
})
