import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import t from 'tap'
import { startOpenidProvider } from '../../../fixtures/an-openid-provider.ts'
import { makePkce, registerClient } from '../../../fixtures/register-client.ts'
import { settings } from '../../../fixtures/sign-in-through-provider.ts'
import { startServer } from '../../../fixtures/start-authorization-server.ts'
import { openSignIn, server, signIn } from './browser.ts'

const SCOPES = 'openid profile email courses:read courses:write'

t.test('rejects a form without its cookie', async (t) => {
  const { page, context } = await openSignIn(t, SCOPES)
  await context.clearCookies({ name: 'scopegate-form' })
  await signIn(page, 'alice')
  await heading(page, 'We could not verify your request')
})

t.test('rejects a consent form from another site, even if the browser sends the cookies', async (t) => {
  const { page, context } = await openSignIn(t, SCOPES)
  await signIn(page, 'alice')
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
  t.teardown(() => trap.close())
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
  const { page, context } = await openSignIn(t, SCOPES)
  const outer = createServer((_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<iframe src="${page.url()}" width="600" height="600"></iframe>`),
  )
  await new Promise<void>((resolve) => outer.listen(0, '127.0.0.1', resolve))
  t.teardown(() => outer.close())
  const trap = await context.newPage()
  t.teardown(() => trap.close())
  await trap.goto(`http://127.0.0.1:${(outer.address() as AddressInfo).port}/`)
  t.equal(await trap.frameLocator('iframe').getByLabel('Password').count(), 0)
})

t.test(
  'a wrong password shows an error and keeps the name, and the correct password continues',
  async (t) => {
    const { page } = await openSignIn(t, SCOPES)
    await signIn(page, 'alice', 'wrong')
    await page.getByRole('alert').getByText('User name or password is wrong').waitFor()
    t.equal(await page.getByLabel('User name').inputValue(), 'alice')
    t.equal(await page.getByLabel('Password').inputValue(), '')
    await signIn(page, 'alice')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
  },
)

t.test('Cancel on either page redirects to the app with state and iss', async (t) => {
  for (const signedIn of [false, true]) {
    const { page, app } = await openSignIn(t, SCOPES)
    if (signedIn) await signIn(page, 'alice')
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
  const { page, app, client, verifier } = await openSignIn(t, SCOPES)
  await signIn(page, 'alice')
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
  const { page } = await openSignIn(t, SCOPES)
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
  await signIn(page, 'alice')
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
  const { page, app, client, verifier } = await openSignIn(t, SCOPES, withProvider)
  await page.getByRole('button', { name: /^Sign in with Company/ }).click()
  await page.getByText('Person One').waitFor()
  const arrives = app.nextCallback()
  await page.getByRole('button', { name: 'Allow' }).click()
  const code = (await arrives).searchParams.get('code') ?? ''
  t.equal((await client.exchange({ code, verifier })).status, 200)
})

t.test('Switch account: another user signs in and gives consent', async (t) => {
  const { page, context } = await openSignIn(t, SCOPES)
  await signIn(page, 'alice')
  await page.getByText('Alice Example').waitFor()
  const before = await sessionCookie(context)
  await page.getByRole('link', { name: /Switch account/ }).click()
  await signIn(page, 'bob')
  await page.getByText('Bob Example').waitFor()
  t.equal(await page.getByText('Alice Example').count(), 0)
  t.not(await sessionCookie(context), before)
})

t.test(
  'sign-in creates a new session, so a session cookie that an attacker set before stays unauthenticated',
  async (t) => {
    const { page, context, client } = await openSignIn(t, SCOPES)
    await signIn(page, 'alice')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    const planted = await sessionCookie(context)
    await page.goto(client.authorizeUrl(SCOPES, makePkce().challenge, { prompt: 'login' }).href)
    await signIn(page, 'alice')
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    t.not(await sessionCookie(context), planted)
  },
)

t.test('a finished interaction and a wrong client show an error page with a request ID', async (t) => {
  const { page, app, client } = await openSignIn(t, SCOPES)
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

t.test('ui_locales of the request selects the language, not the browser', async (t) => {
  const { page, client } = await openSignIn(t, SCOPES)
  const { challenge } = makePkce()
  await page.goto(client.authorizeUrl('openid', challenge, { ui_locales: 'fr de' }).href)
  await page.getByRole('button', { name: 'Anmelden' }).waitFor()
  await page.goto(client.authorizeUrl('openid', challenge, { ui_locales: 'de', client_id: 'unknown' }).href)
  await heading(page, 'Die App hat eine ungültige Anfrage gesendet')
})

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

async function sessionCookie(context: BrowserContext): Promise<string> {
  const cookie = (await context.cookies()).find(({ name }) => /session$/.test(name))
  if (cookie === undefined) throw new Error('the session cookie is missing')
  return cookie.value
}
