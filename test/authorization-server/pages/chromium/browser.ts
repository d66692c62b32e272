import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { readScopeCatalogue } from '../../../../platform/config/read-scope-catalogue.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { startAgentHost } from '../../../fixtures/a-document-host.ts'
import { launchChromium } from '../../../fixtures/launch-chromium.ts'
import { listenAsLoopbackClient } from '../../../fixtures/loopback-client.ts'
import { makePkce, registerClient } from '../../../fixtures/register-client.ts'
import { startServer } from '../../../fixtures/start-authorization-server.ts'

// All files of this folder share one browser, one server and one host of client documents.

/** The host of the hosted agents. The server accepts their documents. */
export const agents = await startAgentHost(t, [
  'agent.example',
  `${'a'.repeat(63)}.${'b'.repeat(63)}.example`,
  'xn--80ak6aa92e.example',
])

/** A client of the configuration. */
export const INTEGRATION = {
  clientId: 'our-web-app',
  clientName: 'Our web app',
  redirectUris: ['https://app.example.com/callback'],
  postLogoutRedirectUris: ['https://app.example.com/'],
  clientSecretFile: undefined,
  trusted: false,
}

export const server = await startServer(
  t,
  {
    registration: agents.registration,
    integrations: [INTEGRATION],
    signIn: { local: true, providers: [], secondFactor: { acr: 'mfa', required: false } },
  },
  { documentNetwork: agents.network },
)

export const chrome = await launchChromium(t)

/** The scopes of the shipped catalogue, without the scopes about the person. */
const catalogue = [...readScopeCatalogue({ file: join(findPackageRoot(), 'config', 'scopes.yaml') }).values()]
const resources = catalogue.filter(({ sensitivity }) => sensitivity !== 'identity')
export const ALL_SCOPES = resources.map(({ name }) => name)
export const WRITE_SCOPES = resources
  .filter(({ sensitivity }) => sensitivity === 'write')
  .map(({ name }) => name)
export const READ_SCOPES = ALL_SCOPES.filter((name) => !WRITE_SCOPES.includes(name))

// A new context needs a new process of the browser, so the tests share one context.
export const WINDOW = { width: 1280, height: 800 }
const context = await chrome.newContext({ javaScriptEnabled: false, locale: 'en', viewport: WINDOW })
/** The tab of all tests in English. */
export const tab = await context.newPage()

/**
 * Opens the sign-in page of a new authorization in a browser without JavaScript and cookies.
 * @param at the server. Default: the shared server.
 */
export async function openSignIn(t: Pick<Test, 'teardown'>, scope: string, at = server) {
  const page = tab
  await context.clearCookies()
  const app = await listenAsLoopbackClient(t)
  const client = await registerClient(at, { client_name: 'Planner', redirect_uris: [app.redirectUri] })
  const { verifier, challenge } = makePkce()
  await page.goto(client.authorizeUrl(scope, challenge).href)
  await waitForFocus(page)
  return { context, page, app, client, verifier }
}

/**
 * Waits until the browser has focused the field with `autofocus`. Chromium does this after the load event. Where a test
 * fills a field before it, Chromium writes a line to the console.
 */
export async function waitForFocus(page: Page): Promise<void> {
  if ((await page.locator('[autofocus]').count()) > 0) await page.locator('[autofocus]:focus').waitFor()
}

/** Fills fields of the page, in this order. Each key is a CSS selector. */
export async function fillFields(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  await page.locator(Object.keys(values).join()).first().waitFor()
  await waitForFocus(page)
  for (const [selector, value] of Object.entries(values)) await page.locator(selector).fill(value)
}

export async function signIn(page: Page, username: string, password = username): Promise<void> {
  await fillFields(page, { '#username': username, '#password': password })
  await page.locator('form:has(#password) .actions button').first().click()
}

/** Returns the authorization request of a client that has a client document. */
export function documentRequest(clientId: string, redirectUri: string): string {
  const url = new URL(`${server.baseUrl}/oauth/authorize`)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'courses:read',
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
    state: 'state-1',
  }).toString()
  return url.href
}
