import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { createPageAudit, type PageAudit, SCHEMES } from '../fixtures/audit-page.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import type { LooseJson } from '../fixtures/loose-json.ts'
import { recordPageFaults } from '../fixtures/page-faults.ts'
import { shrinkPng } from '../fixtures/shrink-png.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

const IMAGES = join(findPackageRoot(), 'docs', 'images')
const MAX_IMAGE_BYTES = 60_000
const MAX_PAGE_BYTES = 100_000

const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const chrome = await launchChromium(t)

/** Opens a tab in a new browser. */
async function openTab(t: Pick<Test, 'teardown'>): Promise<{ page: Page; faults: string[] }> {
  const context = await chrome.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  return { page, faults: recordPageFaults(context, baseUrl) }
}

const tab = await openTab(t)
const plainAudit = await createPageAudit(tab.page)
const scriptedAudit = await createPageAudit(tab.page, { scripts: 1 })

type State = {
  readonly name: string
  readonly path: string
  readonly status?: number
  readonly hasScript?: boolean
  readonly picture?: string
  readonly prepare?: (page: Page) => Promise<unknown>
}

const STATES: readonly State[] = [
  { name: 'the landing page', path: '/', picture: 'gateway-landing' },
  { name: 'the walkthrough', path: '/auth.md' },
  { name: 'the list of errors', path: '/docs/errors' },
  { name: 'the page of an error', path: '/docs/errors/insufficient_scope' },
  { name: 'the page of an unknown error', path: '/docs/errors/no_such_code', status: 404 },
  { name: 'the end of the sign-in', path: '/docs/signed-in', hasScript: true },
  {
    name: 'the API reference with an open operation',
    path: '/docs',
    hasScript: true,
    picture: 'gateway-reference',
    async prepare(page) {
      await page.getByLabel('Filter operations').fill('api/coupons/')
      await page.locator('.operation[data-method=GET] summary').filter({ visible: true }).click()
      await page.getByRole('button', { name: 'Send GET' }).waitFor()
      await page.evaluate('scrollTo(0, 0)')
    },
  },
]

for (const { name, path, status = 200, hasScript = false, picture, prepare } of STATES)
  t.test(`${name}: accessible, small, without console messages and other origins`, async (t) => {
    const { page, faults } = tab
    const audit = hasScript ? scriptedAudit : plainAudit
    faults.length = 0
    const response = await page.goto(baseUrl + path)
    t.equal(response?.status(), status)
    t.ok(((await response?.body())?.length ?? Number.NaN) < MAX_PAGE_BYTES)
    await prepare?.(page)
    t.same(await audit.findFaults('en'), [])
    if (picture !== undefined) await checkPictures(t, picture, audit)
    t.same(await audit.findKeyboardFaults(), [], 'by keyboard')
    t.same(
      faults.filter((fault) => status === 200 || !fault.includes(`status of ${status}`)),
      [],
    )
  })

/** Checks the pictures in docs/images/. With the environment variable DOCS_IMAGES, takes them first. */
async function checkPictures(t: Test, picture: string, audit: PageAudit): Promise<void> {
  for (const scheme of SCHEMES) {
    const file = join(IMAGES, `${picture}-${scheme}.png`)
    if (process.env['DOCS_IMAGES'] !== undefined)
      writeFileSync(file, shrinkPng(await audit.takePicture(scheme)))
    t.ok(existsSync(file) && statSync(file).size <= MAX_IMAGE_BYTES, `${picture}-${scheme}.png is small`)
  }
}

const COLOUR = '{"primary_colour":"#112233"}'

const statusOf = (page: Page) => page.locator('#access-status')

/** Opens an operation and sends its request. Returns the text of the response. */
async function call(page: Page, method: string, path: string, body?: string): Promise<string> {
  const operation = page.locator(`.operation[data-method=${method}][data-path="${path}"]`)
  if ((await operation.getAttribute('open')) === null) await operation.locator('summary').first().click()
  if (body !== undefined) await operation.getByLabel(/^Body/).fill(body)
  await operation.getByRole('button', { name: `Send ${method}` }).click()
  await operation.getByRole('heading', { name: / in \d+ ms$/ }).waitFor()
  return (await operation.getByRole('status').textContent()) ?? ''
}

/** Signs in in the window that the page opens. Returns the token response. */
async function signIn(page: Page): Promise<LooseJson> {
  const [popup, response] = await Promise.all([
    page.waitForEvent('popup').then(async (popup) => {
      const password = popup.locator('input[type=password]')
      const allow = popup.getByRole('button', { name: 'Allow' })
      await password.or(allow).first().waitFor()
      if (await password.isVisible()) {
        await popup.locator('input[name=username]').fill('alice')
        await password.fill('alice')
        await password.press('Enter')
      }
      await allow.click()
      return popup
    }),
    page.waitForResponse((response) => response.url() === `${baseUrl}/api/oauth/token`),
    page.getByRole('button', { name: 'Sign in' }).click(),
  ])
  const body = (await response.json()) as LooseJson
  scopegate.secret(body.access_token)
  scopegate.secret(body.refresh_token)
  scopegate.secret(new URLSearchParams(response.request().postData() ?? '').get('code') ?? undefined)
  await statusOf(page).getByText('Requests have an access token').waitFor()
  if (!popup.isClosed()) await popup.waitForEvent('close')
  return body
}

async function useToken(page: Page, token: string): Promise<void> {
  await page.getByText('Use an existing access token').click()
  await page.getByLabel('Access token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Use this token' }).click()
}

/** Returns the status of a request with the token. */
async function statusWith(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${baseUrl}/api/account`, { headers })).status
}

t.test('/docs signs in, calls a protected route, requests a missing scope, and signs out', async (t) => {
  const { page, faults } = await openTab(t)
  await page.goto(`${baseUrl}/docs`)
  t.match(await call(page, 'GET', '/api/account'), /^200 .*"subject": null/s, 'an anonymous request')

  const { access_token: first } = await signIn(page)
  t.match(await call(page, 'GET', '/api/account'), /^200 .*"subject": "\w+"/s, 'a request with a token')
  t.match(
    await call(page, 'PATCH', '/api/appearance', COLOUR),
    /^403 .*insufficient_scope.*appearance:write are now selected/s,
  )

  const { access_token: token } = await signIn(page)
  t.equal(await statusWith(first), 401, 'the second sign-in has revoked the first token')
  t.match(await call(page, 'PATCH', '/api/appearance', COLOUR), /^200 /)
  const stored = await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')
  t.same(stored, [0, 0, ''], 'the page stores nothing')
  t.notMatch(page.url(), token)

  await page.getByRole('button', { name: 'Sign out' }).click()
  await statusOf(page).getByText('Requests have no token.').waitFor()
  t.equal(await statusWith(token), 401, 'the token is revoked')
  t.same(
    faults.filter((fault) => !fault.includes('status of 403')),
    [],
  )
})

t.test('/docs revokes its token when the person reloads the page or enters another token', async (t) => {
  const { page } = await openTab(t)
  await page.goto(`${baseUrl}/docs`)
  for (const leave of [() => page.reload(), () => useToken(page, 'another-token')]) {
    const { access_token: token } = await signIn(page)
    t.equal(await statusWith(token), 200)
    await leave()
    await until('the revocation', async () => (await statusWith(token)) === 401)
  }
})

t.test('/docs accepts a token of the person, and keeps no text of the token in the form', async (t) => {
  const { page } = await openTab(t)
  await page.goto(`${baseUrl}/docs`)
  await useToken(page, 'not-a-token')
  t.equal(await page.getByLabel('Access token', { exact: true }).inputValue(), '')
  t.match(await call(page, 'GET', '/api/account'), /^401 .*invalid_token/s)
})

type Answer = Readonly<Record<string, string>>

/** Replaces the authorization server by a server that returns `answer` to the redirect URI. */
async function answerWith(page: Page, answer: (state: string) => Answer): Promise<void> {
  await page.context().route('**/oauth/authorize?*', async (route) => {
    const state = new URL(route.request().url()).searchParams.get('state') ?? ''
    const location = `/docs/signed-in?${new URLSearchParams(answer(state))}`.replaceAll('&', '&amp;')
    const body = `<meta http-equiv="refresh" content="0; url=${location}">`
    await route.fulfill({ contentType: 'text/html', body })
  })
}

t.test('/docs shows the texts of an upstream, and runs no script in them', async (t) => {
  const hostile =
    '\u202e\u2067</script><img src=x onerror="window.attacked=1"><script>window.attacked=1</script>'
  const shown = hostile.replace('\u202e', '\\u{202e}').replace('\u2067', '\\u{2067}')
  const schema = { type: 'object', properties: { [hostile]: { type: 'string', example: hostile } } }
  const parameter = { name: hostile, in: 'query', description: hostile, schema: { enum: [hostile] } }
  const content = { 'application/json': { schema } }
  const operation = {
    summary: hostile,
    description: hostile,
    tags: [hostile],
    parameters: [parameter],
    requestBody: { content },
    responses: { 200: { description: hostile, content }, [hostile]: { description: hostile } },
  }
  const document = { openapi: '3.1.0', paths: { '/api/courses': { post: operation } } }
  const targets: string[] = []
  const upstream = createServer((request, response) => {
    targets.push(request.url ?? '')
    const isDocument = request.url === '/openapi.json'
    response.writeHead(200, { 'content-type': isDocument ? 'application/json' : 'text/html' })
    response.end(isDocument ? JSON.stringify(document) : hostile)
  })
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => upstream.close())
  const { port } = upstream.address() as AddressInfo
  const { gateway } = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      name: hostile,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api'
          ? { ...one, urls: [`http://127.0.0.1:${port}`], openapiPath: '/openapi.json' }
          : one,
      ),
    }),
  })
  await until('the document of the upstream', async () =>
    (await (await fetch(`${gateway.url}/openapi.json`)).text()).includes('onerror'),
  )
  const { page, faults } = await openTab(t)
  await page.goto(`${gateway.url}/docs`)
  await page.getByRole('heading', { name: shown, exact: true }).waitFor()
  const operationOf = page.locator('.operation[data-method=POST][data-path="/api/courses"]')
  await operationOf.locator('summary').first().click()
  await operationOf.getByLabel(/query/).selectOption({ index: 1 })
  t.match(await call(page, 'POST', '/api/courses'), shown, 'the response is text')
  t.match(
    targets.at(-1),
    `=${encodeURIComponent('\u202e\u2067')}`,
    'the request has the value of the document',
  )
  t.notMatch(
    await page.locator('body').textContent(),
    /[\u202a-\u202e\u2066-\u2069]/,
    'no text changes its direction',
  )
  t.equal(await page.evaluate('window.attacked'), undefined)
  t.equal(await page.locator('main img, main script').count(), 0)
  t.same(
    faults.filter((fault) => !fault.startsWith('request: http://127.0.0.1:')),
    [],
    'the content security policy had nothing to block',
  )
  await page.getByRole('button', { name: 'Sign in' }).waitFor({ state: 'hidden' })
  t.notOk(await page.getByText('Scopes to request').isVisible(), 'the scopes belong to the sign-in')
})

const ATTACKS: readonly (readonly [name: string, answer: (state: string) => Answer, says: RegExp])[] = [
  [
    'of another issuer',
    (state) => ({ state, code: 'stolen', iss: 'https://attacker.example' }),
    /response is from another server/,
  ],
  ['without the issuer', (state) => ({ state, code: 'stolen' }), /response is from another server/],
  [
    'with a denial',
    (state) => ({ state, iss: baseUrl, error: 'access_denied', error_description: '\u202e<b>no</b>' }),
    /access_denied \(\\u\{202e\}<b>no<\/b>\)/,
  ],
]

for (const [name, answer, says] of ATTACKS)
  t.test(`/docs rejects a response ${name}, and sends no code to the token endpoint`, async (t) => {
    const { page } = await openTab(t)
    let exchanges = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/api/oauth/token')) exchanges += 1
    })
    await answerWith(page, answer)
    await page.goto(`${baseUrl}/docs`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await statusOf(page).getByText(says).waitFor()
    t.equal(exchanges, 0)
  })

t.test('/docs ignores a response with another state', async (t) => {
  const { page } = await openTab(t)
  await answerWith(page, () => ({ state: 'of-the-attacker', code: 'stolen', iss: baseUrl }))
  await page.goto(`${baseUrl}/docs`)
  const opened = page.waitForEvent('popup')
  await page.getByRole('button', { name: 'Sign in' }).click()
  const popup = await opened
  await popup.getByText('You can close this window').waitFor()
  t.equal(popup.url(), `${baseUrl}/docs/signed-in`, 'the code is not in the address bar')
  t.equal(await statusOf(page).textContent(), 'Continue in the sign-in window.')
})

for (const [name, endpoint] of [
  ['a script', 'javascript:document.title="attacked"'],
  ['another host without TLS', 'http://attacker.example/authorize'],
] as const)
  t.test(`/docs opens no authorization endpoint that is ${name}`, async (t) => {
    const { page } = await openTab(t)
    await page.context().route('**/.well-known/oauth-authorization-server', async (route) => {
      const metadata = (await (await route.fetch()).json()) as object
      await route.fulfill({ json: { ...metadata, authorization_endpoint: endpoint } })
    })
    await page.goto(`${baseUrl}/docs`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await statusOf(page)
      .getByText(/no valid authorization_endpoint/)
      .waitFor()
    t.equal(await page.title(), 'API reference · Learning platform API')
  })

t.test('/docs rejects metadata of another issuer', async (t) => {
  const { page } = await openTab(t)
  await page.context().route('**/.well-known/oauth-authorization-server', async (route) => {
    const metadata = (await (await route.fetch()).json()) as object
    await route.fulfill({ json: { ...metadata, issuer: 'https://attacker.example' } })
  })
  await page.goto(`${baseUrl}/docs`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await statusOf(page)
    .getByText(/belongs to another issuer/)
    .waitFor()
})
