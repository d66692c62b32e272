import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startOpenidProvider } from '../../fixtures/an-openid-provider.ts'
import { launchChromium } from '../../fixtures/launch-chromium.ts'
import { listenAsLoopbackClient } from '../../fixtures/loopback-client.ts'
import { makePkce, registerClient } from '../../fixtures/register-client.ts'
import { settings } from '../../fixtures/sign-in-through-provider.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const SCOPES = 'openid profile email courses:read courses:write'

const server = await startServer(t)
const chrome = await launchChromium(t)

t.test('rejects a form without its cookie', async (t) => {
  const { page, context } = await begin(t)
  await context.clearCookies({ name: 'scopegate-form' })
  await fillAndSignIn(page, 'alice', 'alice')
  await heading(page, 'We could not verify your request')
})

t.test('rejects a consent form from another site, even if the browser sends the cookies', async (t) => {
  const { page, context } = await begin(t)
  await fillAndSignIn(page, 'alice', 'alice')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  const token = await page.locator('form input[name=form_token]').first().getAttribute('value')
  const form = `<form method="post" action="${page.url()}/consent"><input name="form_token" value="${token}">
    <input name="scope.courses:read" value="on"><button>Win a prize</button></form>`
  const evil = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(form),
  )
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
  t.teardown(() => evil.close())
  const trap = await context.newPage()
  await trap.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`)
  const [answer] = await Promise.all([
    trap.waitForResponse((response) => response.url().endsWith('/consent')),
    trap.getByRole('button').click(),
  ])
  t.equal(answer.status(), 403)
  await page.reload()
  await page.getByRole('button', { name: 'Allow' }).waitFor()
})

t.test('the browser blocks the pages in a frame', async (t) => {
  const { page, context } = await begin(t)
  const outer = createServer((_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<iframe src="${page.url()}" width="600" height="600"></iframe>`),
  )
  await new Promise<void>((resolve) => outer.listen(0, '127.0.0.1', resolve))
  t.teardown(() => outer.close())
  const trap = await context.newPage()
  await trap.goto(`http://127.0.0.1:${(outer.address() as AddressInfo).port}/`)
  t.equal(await trap.frameLocator('iframe').getByLabel('Password').count(), 0)
})

t.test(
  'a wrong password shows an error and keeps the name, and the correct password continues',
  async (t) => {
    const { page } = await begin(t)
    await fillAndSignIn(page, 'alice', 'wrong')
    await page.getByRole('alert').getByText('User name or password is wrong').waitFor()
    t.equal(await page.getByLabel('User name').inputValue(), 'alice')
    t.equal(await page.getByLabel('Password').inputValue(), '')
    await fillAndSignIn(page, 'alice', 'alice')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
  },
)

t.test('Cancel on either page redirects to the app with state and iss', async (t) => {
  for (const signedIn of [false, true]) {
    const { page, app } = await begin(t)
    if (signedIn) await fillAndSignIn(page, 'alice', 'alice')
    const arrives = app.nextCallback()
    await page.getByRole('button', { name: 'Cancel' }).click()
    const { searchParams } = await arrives
    t.equal(searchParams.get('error'), 'access_denied')
    t.equal(searchParams.get('state'), 'a-state')
    t.equal(searchParams.get('iss'), server.baseUrl)
    t.equal(searchParams.get('code'), null)
  }
})

t.test('deselected scopes are not granted, and the token response lists the granted scopes', async (t) => {
  const { page, app, client, verifier } = await begin(t)
  await fillAndSignIn(page, 'alice', 'alice')
  await page.getByRole('checkbox', { name: /delete courses/ }).uncheck()
  await page.getByRole('checkbox', { name: /email/ }).uncheck()
  const arrives = app.nextCallback()
  await page.getByRole('button', { name: 'Allow' }).click()
  const redirect = await arrives
  t.equal(redirect.searchParams.get('state'), 'a-state')
  t.equal(redirect.searchParams.get('iss'), server.baseUrl)
  const answer = await client.exchange({ code: redirect.searchParams.get('code') ?? '', verifier })
  t.equal(answer.status, 200)
  t.equal(client.readTokens(answer).scope, 'openid profile courses:read')
})

t.test('an app may redirect the browser from its callback to another site', async (t) => {
  const { page } = await begin(t)
  const finish = createServer((_request, response) => response.end('All done.'))
  await new Promise<void>((resolve) => finish.listen(0, '127.0.0.1', resolve))
  t.teardown(() => finish.close())
  const onward = `http://127.0.0.1:${(finish.address() as AddressInfo).port}/done`
  const callback = createServer((_request, response) => response.writeHead(302, { location: onward }).end())
  await new Promise<void>((resolve) => callback.listen(0, '127.0.0.1', resolve))
  t.teardown(() => callback.close())
  const redirectUri = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`
  const other = await registerClient(server, { client_name: 'Onward', redirect_uris: [redirectUri] })
  await page.goto(other.authorizeUrl(SCOPES, makePkce().challenge).href)
  await fillAndSignIn(page, 'alice', 'alice')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(onward)
})

t.test('a person signs in through a provider of another site, which uses a third site', async (t) => {
  const provider = await startOpenidProvider(t, { host: 'localhost' })
  const third = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://third.test')
    response.writeHead(302, { location: `${provider.issuer}/back?${searchParams}` }).end()
  })
  await new Promise<void>((resolve) => third.listen(0, '127.0.0.1', resolve))
  t.teardown(() => third.close())
  provider.behavior = {
    reply: {
      '/authorize': (request, response) => {
        const location = `http://127.0.0.1:${(third.address() as AddressInfo).port}/?${request.url?.split('?')[1]}`
        response.writeHead(302, { location }).end()
      },
      '/back': (request, response) => {
        const asked = new URL(request.url ?? '/', provider.issuer)
        const location = `${asked.searchParams.get('redirect_uri')}?${provider.authorize(asked)}`
        response.writeHead(302, { location }).end()
      },
    },
  }
  const company = settings(provider.issuer, { title: 'Company '.repeat(7).trim() })
  const withProvider = await startServer(t, { signIn: { local: true, providers: [company] } })
  const context = await chrome.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: 640 } })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const app = await listenAsLoopbackClient(t)
  const client = await registerClient(withProvider, { redirect_uris: [app.redirectUri] })
  const { verifier, challenge } = makePkce()
  await page.goto(client.authorizeUrl(SCOPES, challenge).href)
  const width = await page.getByRole('button', { name: /^Sign in with Company/ }).boundingBox()
  t.ok(width !== null && width.x + width.width <= 320, 'the button fits')
  await page.getByRole('button', { name: /^Sign in with Company/ }).click()
  await page.getByText('Person One').waitFor()
  const arrives = app.nextCallback()
  await page.getByRole('button', { name: 'Allow' }).click()
  const code = (await arrives).searchParams.get('code') ?? ''
  t.equal((await client.exchange({ code, verifier })).status, 200)
})

t.test('Switch account: another user signs in and gives consent', async (t) => {
  const { page, context } = await begin(t)
  await fillAndSignIn(page, 'alice', 'alice')
  await page.getByText('Alice Example').waitFor()
  const before = await sessionCookie(context)
  await page.getByRole('link', { name: /Switch account/ }).click()
  await fillAndSignIn(page, 'bob', 'bob')
  await page.getByText('Bob Example').waitFor()
  t.equal(await page.getByText('Alice Example').count(), 0)
  t.not(await sessionCookie(context), before)
})

t.test(
  'sign-in creates a new session, so a session cookie that an attacker set before stays unauthenticated',
  async (t) => {
    const { page, context, client } = await begin(t)
    await fillAndSignIn(page, 'alice', 'alice')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    const planted = await sessionCookie(context)
    await page.goto(client.authorizeUrl(SCOPES, makePkce().challenge, { prompt: 'login' }).href)
    await fillAndSignIn(page, 'alice', 'alice')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    t.not(await sessionCookie(context), planted)
  },
)

t.test('a finished interaction and a wrong client show an error page with a request ID', async (t) => {
  const { page, app, client } = await begin(t)
  const address = page.url()
  const arrives = app.nextCallback()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await arrives
  await page.goto(address)
  await heading(page, 'This page is no longer valid')
  const wrong = client.authorizeUrl('openid', makePkce().challenge, { client_id: 'nobody' })
  const response = await page.goto(wrong.href)
  t.equal(response?.status(), 400)
  await heading(page, 'The app sent an invalid request')
  t.match(await page.locator('footer').textContent(), /^Request .+/)
  await page.getByText('Details for the app’s developer').click()
  await page.getByText('invalid_client').waitFor()
})

t.test('every page fits 320 CSS pixels, has one h1 and labels, and causes no console message', async (t) => {
  const context = await chrome.newContext({ viewport: { width: 320, height: 640 } })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const messages: string[] = []
  page.on('console', (message) => messages.push(message.text()))
  const app = await listenAsLoopbackClient(t)
  const client = await registerClient(server, {
    client_name: 'W'.repeat(100),
    redirect_uris: [app.redirectUri],
  })
  const everything =
    'openid profile email courses:read courses:write orders:read school:read school:write events:read coupons:write posts:read forms:read'
  const check = async (name: string): Promise<void> => {
    t.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 320, `${name} fits`)
    t.equal(await page.locator('h1').count(), 1, name)
    t.equal(await page.locator('main').count(), 1, name)
    t.equal(await page.locator('html').getAttribute('lang'), 'en', name)
    t.equal(
      await page.evaluate('getComputedStyle(document.body).display'),
      'flex',
      `${name}: the style counts`,
    )
  }
  await page.goto(client.authorizeUrl(everything, makePkce().challenge).href)
  await check('sign-in')
  await fillAndSignIn(page, 'alice', 'wrong')
  await page.getByRole('alert').waitFor()
  await check('wrong password')
  await fillAndSignIn(page, 'alice', 'alice')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await check('consent')
  await page.goto(client.authorizeUrl('openid', makePkce().challenge, { client_id: 'x'.repeat(200) }).href)
  await check('error')
  t.strictSame(
    messages.filter((text) => !/the server responded with a status of 400/.test(text)),
    [],
  )
})

t.test('a person removes an app on the account page, at 320 CSS pixels and without a script', async (t) => {
  const { page, app } = await begin(t)
  await fillAndSignIn(page, 'bob', 'bob')
  const arrives = app.nextCallback()
  await page.getByRole('button', { name: 'Allow' }).click()
  await arrives
  await page.setViewportSize({ width: 320, height: 640 })
  await page.goto(`${server.baseUrl}/oauth/account`)
  await heading(page, 'Your account')
  t.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 320)
  await page
    .getByRole('region', { name: /Not verified/ })
    .getByRole('button', { name: 'Remove access' })
    .click()
  await page.getByRole('status').getByText('The app has no access').waitFor()
  await page.getByText('No app has access to your account.').waitFor()
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await heading(page, 'You are signed out')
  await page.getByRole('link', { name: 'Sign in to see your account' }).click()
  await page.getByLabel('Password').waitFor()
})

/** Opens the sign-in page in a browser without JavaScript. */
async function begin(t: Test) {
  const context = await chrome.newContext({ javaScriptEnabled: false })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const app = await listenAsLoopbackClient(t)
  const client = await registerClient(server, { client_name: 'Planner', redirect_uris: [app.redirectUri] })
  const { verifier, challenge } = makePkce()
  await page.goto(client.authorizeUrl(SCOPES, challenge).href)
  return { context, page, app, client, verifier }
}

async function fillAndSignIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

async function sessionCookie(context: BrowserContext): Promise<string> {
  const cookie = (await context.cookies()).find(({ name }) => /session$/.test(name))
  if (cookie === undefined) throw new Error('the session cookie is missing')
  return cookie.value
}
