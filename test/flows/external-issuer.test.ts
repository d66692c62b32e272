import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startExternalIssuer } from '../fixtures/an-external-issuer.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import { recordPageFaults } from '../fixtures/page-faults.ts'
import { quietPort } from '../fixtures/quiet-port.ts'

const chrome = await launchChromium(t)
const port = await quietPort()
const baseUrl = `http://127.0.0.1:${port}`
const issuer = await startExternalIssuer(t, {
  redirectUri: `${baseUrl}/docs/signed-in`,
  resource: baseUrl,
  scope: 'orders:read',
})
await startGatewayUnderTest(t, {
  change: (config) => ({
    ...config,
    baseUrl,
    listen: { host: '127.0.0.1', port },
    authorizationServer: undefined,
    issuers: [aJwtIssuerConfig(issuer.issuer, { algorithms: ['RS256'] })],
    docs: { enabled: true, clientId: issuer.clientId },
  }),
})

/** Opens `/docs` in a new browser. */
async function openDocs(t: Test): Promise<{ page: Page; faults: readonly string[] }> {
  const context = await chrome.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  const faults = recordPageFaults(context)
  await page.goto(`${baseUrl}/docs`)
  return { page, faults }
}

const statusOf = (page: Page) => page.locator('#access-status')

/** Starts the sign-in. Returns the window of the issuer. */
async function openSignIn(page: Page): Promise<Page> {
  const [popup] = await Promise.all([
    page.waitForEvent('popup'),
    page.getByRole('button', { name: 'Sign in' }).click(),
  ])
  return popup
}

async function signIn(page: Page): Promise<void> {
  const popup = await openSignIn(page)
  await popup.getByText('Allow').click()
  await statusOf(page).getByText('Requests have an access token with orders:read.').waitFor()
}

/** Sends the request of an operation. Returns the text of the response. */
async function callRoute(page: Page): Promise<string> {
  const operation = page.locator('.operation[data-method=GET][data-path="/api/challenged"]')
  if ((await operation.getAttribute('open')) === null) await operation.locator('summary').first().click()
  await operation.getByRole('button', { name: 'Send GET' }).click()
  await operation.getByRole('heading', { name: / in \d+ ms$/ }).waitFor()
  return (await operation.getByRole('status').textContent()) ?? ''
}

t.test('/docs signs in at an external issuer, and shows the data of a protected route', async (t) => {
  const { page, faults } = await openDocs(t)
  t.match(await callRoute(page), /^401 /, 'no access without a token')
  await signIn(page)
  t.match(await callRoute(page), /^200 .*"ok": true/s, 'the data of the upstream')
  t.same(
    faults.filter((fault) => /content security policy/i.test(fault)),
    [],
  )
})

t.test('/docs revokes the grant at an external issuer before the next sign-in', async (t) => {
  const { page } = await openDocs(t)
  const before = issuer.revocations
  await signIn(page)
  const paths: string[] = []
  page.context().on('request', (request) => paths.push(new URL(request.url()).pathname))
  const popup = await openSignIn(page)
  if (!popup.isClosed()) await popup.waitForEvent('close') // the person has a session at the issuer
  await statusOf(page).getByText('Requests have an access token').waitFor()
  t.match(await callRoute(page), /^200 /)
  t.equal(issuer.revocations, before + 1, 'the new grant stays')
  const sequence = paths
    .filter((path) => /\/(?:auth|revocation)$/.test(path))
    .map((path) => path.split('/').pop())
  t.same(sequence.slice(-1), ['auth'], 'no revocation follows the sign-in')
})

t.test('/docs explains an issuer without readable metadata', async (t) => {
  const { page } = await openDocs(t)
  await page.context().route('**/.well-known/*', (route) => route.abort())
  await openSignIn(page)
  await statusOf(page).getByText(`cannot read the metadata of the issuer ${issuer.issuer}.`).waitFor()
})

t.test('/docs explains a rejected sign-in', async (t) => {
  const { page } = await openDocs(t)
  const popup = await openSignIn(page)
  await popup.getByText('Deny').click()
  await statusOf(page)
    .getByText(
      /^The issuer rejected the sign-in: access_denied.* Use another account, or select fewer scopes\.$/,
    )
    .waitFor()
})

t.test('/docs explains a client that the issuer does not know', async (t) => {
  const { page } = await openDocs(t)
  await page.context().route('**/auth?*', (route) =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/client_id=[^&]+/, 'client_id=unknown'),
    }),
  )
  const popup = await openSignIn(page)
  await popup.getByText('invalid_client').waitFor()
  await statusOf(page)
    .getByText(
      `register the public client "${issuer.clientId}" with the redirect URI ${baseUrl}/docs/signed-in`,
    )
    .waitFor()
})

t.test('/docs explains a token endpoint that allows no CORS requests', async (t) => {
  issuer.allowsCors = false
  t.teardown(() => {
    issuer.allowsCors = true
  })
  const { page } = await openDocs(t)
  const popup = await openSignIn(page)
  await popup.getByText('Allow').click()
  await statusOf(page)
    .getByText(`no response from ${issuer.issuer}/token`)
    .getByText(`CORS requests from ${baseUrl}`)
    .waitFor()
})
