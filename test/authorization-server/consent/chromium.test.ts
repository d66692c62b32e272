import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { readScopeCatalogue } from '../../../platform/config/read-scope-catalogue.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { sendDocument, startAgentHost } from '../../fixtures/a-document-host.ts'
import { launchChromium } from '../../fixtures/launch-chromium.ts'
import { listenAsLoopbackClient } from '../../fixtures/loopback-client.ts'
import { makePkce, registerClient } from '../../fixtures/register-client.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const catalogue = [...readScopeCatalogue({ file: join(findPackageRoot(), 'config', 'scopes.yaml') }).values()]
const resources = catalogue.filter(({ sensitivity }) => sensitivity !== 'identity')
const all = resources.map(({ name }) => name)
const writes = resources.filter(({ sensitivity }) => sensitivity === 'write').map(({ name }) => name)
const reads = all.filter((name) => !writes.includes(name))

const server = await startServer(t)
const chrome = await launchChromium(t)

for (const width of [320, 1280])
  t.test(`at ${width} pixels, 35 scopes are visible and no write scope is ticked`, async (t) => {
    const { page, allow } = await openConsent(t, { scopes: all, width })
    for (const name of all) {
      t.ok(await box(page, name).isVisible(), `${name} is visible`)
      t.equal(await box(page, name).isChecked(), reads.includes(name), name)
    }
    t.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width, 'nothing overflows')
    t.equal(await chosen(page), `Selected: ${reads.length} of 35, 0 can change data`)
    const allowTop = (await page.getByRole('button', { name: 'Allow' }).boundingBox())?.y ?? 0
    for (const name of writes) t.ok(await isAbove(box(page, name), allowTop), `${name} is above the button`)
    t.same(await allow(), reads, 'Allow grants the ticked scopes, and the token response names them')
  })

t.test('up to three write scopes are ticked', async (t) => {
  const scopes = ['courses:read', ...writes.slice(0, 3)]
  const { page, allow } = await openConsent(t, { scopes })
  t.equal(await chosen(page), 'Selected: 4 of 4, 3 can change data')
  t.same(await allow(), scopes)
})

t.test('the checkboxes for a group and for all scopes work without JavaScript', async (t) => {
  const { page, allow } = await openConsent(t, { scopes: all })
  const courses = page.getByRole('checkbox', { name: 'All of Courses' })
  const everything = page.getByRole('checkbox', { name: 'Everything' })
  t.equal(await courses.getAttribute('aria-checked'), 'mixed')
  await box(page, 'pages:read').uncheck()
  await press(page, courses)
  t.equal(await chosen(page), `Selected: ${reads.length} of 35, 1 can change data`)
  t.ok(await box(page, 'courses:write').isChecked())
  t.notOk(await box(page, 'pages:read').isChecked(), 'other ticks stay')
  await press(page, everything)
  t.equal(await chosen(page), `Selected: 35 of 35, ${writes.length} can change data`)
  t.ok(await courses.isChecked())
  await press(page, everything)
  t.equal(await chosen(page), 'Selected: 0 of 35, 0 can change data')
  await press(page, courses)
  await box(page, 'orders:read').check()
  t.equal(await chosen(page), 'Selected: 3 of 35, 1 can change data', 'the count follows each tick')
  t.same(await allow(), ['courses:read', 'courses:write', 'orders:read'])
})

t.test(
  'a toggle shows the state of its checkboxes, also before the browser sends them to the server',
  async (t) => {
    const { page } = await openConsent(t, { scopes: ['courses:read', 'courses:write', 'orders:read'] })
    const mark = (value: string) =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('[value="${value}"]'), '::before').content`,
      )
    t.same([await mark('all'), await mark('group.Courses')], ['"✓"', '"✓"'])
    await box(page, 'courses:read').uncheck()
    t.same([await mark('all'), await mark('group.Courses')], ['"–"', '"–"'])
    await box(page, 'courses:write').uncheck()
    t.same([await mark('all'), await mark('group.Courses')], ['"–"', '""'])
  },
)

t.test('the keyboard reaches every control, and Enter in a checkbox does not change it', async (t) => {
  const { page } = await openConsent(t, { scopes: ['courses:read', 'courses:write', 'orders:read'] })
  const everything = page.getByRole('checkbox', { name: 'Everything' })
  await everything.focus()
  await Promise.all([page.waitForEvent('domcontentloaded'), page.keyboard.press('Space')])
  t.equal(await page.evaluate<string>('document.activeElement.value'), 'all', 'the toggle keeps the focus')
  t.equal(await chosen(page), 'Selected: 0 of 3, 0 can change data')
  for (const name of ['All of Courses', 'See courses', 'Create, change and delete courses', 'See orders']) {
    await page.keyboard.press('Tab')
    t.match(await focused(page), name)
  }
  await page.keyboard.press('Space')
  await page.keyboard.press('Tab')
  t.match(await focused(page), 'Allow')
  t.equal(await chosen(page), 'Selected: 1 of 3, 0 can change data')
  await page.keyboard.press('Tab')
  t.match(await focused(page), 'Cancel')
  await box(page, 'courses:read').focus()
  await Promise.all([page.waitForEvent('domcontentloaded'), page.keyboard.press('Enter')])
  t.equal(await chosen(page), 'Selected: 1 of 3, 0 can change data')
  t.ok(await box(page, 'orders:read').isChecked())
})

t.test('every checkbox has a name', async (t) => {
  const { page } = await openConsent(t, { scopes: all })
  const nodes = await accessibilityTree(page)
  const names = nodes.filter(({ role }) => role === 'checkbox').map(({ name }) => name)
  t.equal(
    names.length,
    35 + 1 + 15,
    'one for each scope, one for all, one for each group with more than one scope',
  )
  t.equal(new Set(names).size, names.length, 'the names are unique')
  t.notOk(names.includes(''))
})

for (const colorScheme of ['light', 'dark'] as const)
  t.test(`Allow is filled and Cancel is not, in the ${colorScheme} scheme`, async (t) => {
    const { page } = await openConsent(t, { scopes: ['courses:read'], colorScheme })
    const background = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`)
    t.equal(await background('[formaction$="/cancel"]'), 'rgba(0, 0, 0, 0)')
    t.match(await background('.actions button'), /^rgb\(/)
  })

t.test('Allow without a selected scope shows a message, stays on the page and grants no scope', async (t) => {
  const { page, allow } = await openConsent(t, { scopes: ['courses:read', 'orders:read'] })
  await press(page, page.getByRole('checkbox', { name: 'Everything' }))
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('alert').getByText('Select at least one box').waitFor()
  t.equal(await chosen(page), 'Selected: 0 of 2')
  await box(page, 'orders:read').check()
  t.same(await allow(), ['orders:read'])
})

/** Names in client documents, and the text on the page. */
const HOSTILE_NAMES: readonly (readonly [name: string, shown: string])[] = [
  ['A'.repeat(200), `${'A'.repeat(99)}…`],
  ['</bdi></p><b>Agent</b><script>alert(1)</script>', '</bdi></p><b>Agent</b><script>alert(1)</script>'],
  ['\u202Elive\u202C.gro \u2066agent\u2069\u200B', 'live.gro agent'],
  ['Agent\n\n\tVerified\u2028', 'Agent Verified'],
  ['Cl\u0430ude (claude.ai)', 'Cl\u0430ude (claude.ai)'], // with a Cyrillic letter
  ['Agent\u0301\u0302\u0303\u0304\u0305', 'Agent\u0301\u0302'],
  ['\u0000\u{E0041}Agent', 'Agent'],
]

t.test('§8.5 of CIMD: a hostile name or logo of a document does not change the page', async (t) => {
  const names = ['agent.example', `${'a'.repeat(63)}.${'b'.repeat(63)}.example`, 'xn--80ak6aa92e.example']
  const { host, network, domains, registration } = await startAgentHost(t, names)
  const { baseUrl } = await startServer(t, { registration }, { documentNetwork: network })
  const context = await chrome.newContext({
    javaScriptEnabled: false,
    viewport: { width: 320, height: 800 },
  })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const requested = new Set<string>()
  page.on('request', (request) => requested.add(new URL(request.url()).origin))
  for (const [index, [name, shown]] of HOSTILE_NAMES.entries()) {
    const domain = domains[index % domains.length] ?? ''
    const clientId = `https://${domain}/client-${index}`
    host.respond(
      sendDocument({
        client_id: clientId,
        client_name: name,
        client_uri: 'javascript:alert(1)',
        logo_uri: `https://${domain}/logo.svg`,
        redirect_uris: [`https://${domain}/callback`],
      }),
    )
    await page.goto(documentRequest(baseUrl, clientId, `https://${domain}/callback`))
    if (index === 0) await signInAsAlice(page)
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    t.equal(await page.locator('h1').textContent(), `${domain} wants to use your account`)
    const identity = await page.getByText('This app belongs to').textContent()
    t.ok(
      identity?.startsWith(`This app belongs to ${domain} and uses the name ${shown}. Not verified`),
      String(identity),
    )
    t.equal(await page.locator('dd').nth(1).textContent(), domain, 'the host of the redirect')
    t.equal(await page.locator('main :is(b, script, img)').count(), 0, 'the name is text')
    t.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 320, 'nothing overflows')
  }
  t.same(
    host.requests,
    HOSTILE_NAMES.map((_name, index) => `/client-${index}`),
  )
  t.same([...requested], [baseUrl], 'the browser fetches nothing from the agent')
})

function documentRequest(baseUrl: string, clientId: string, redirectUri: string): string {
  const url = new URL(`${baseUrl}/oauth/authorize`)
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

/** Opens the consent page in a browser without JavaScript. */
async function openConsent(
  t: Test,
  options: {
    readonly scopes: readonly string[]
    readonly width?: number
    readonly colorScheme?: 'light' | 'dark'
  },
) {
  const { scopes, width = 1280, colorScheme = 'light' } = options
  const context = await chrome.newContext({
    javaScriptEnabled: false,
    colorScheme,
    viewport: { width, height: 800 },
  })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const app = await listenAsLoopbackClient(t)
  const client = await registerClient(server, { client_name: 'Planner', redirect_uris: [app.redirectUri] })
  const { verifier, challenge } = makePkce()
  await page.goto(client.authorizeUrl(scopes.join(' '), challenge).href)
  await signInAsAlice(page)
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  const allow = async (): Promise<readonly string[]> => {
    const arrives = app.nextCallback()
    await page.getByRole('button', { name: 'Allow' }).click()
    const code = (await arrives).searchParams.get('code') ?? ''
    server.secret(code)
    return client.readTokens(await client.exchange({ code, verifier })).scope?.split(' ') ?? []
  }
  return { page, allow }
}

async function signInAsAlice(page: Page): Promise<void> {
  await page.getByLabel('User name').fill('alice')
  await page.getByLabel('Password').fill('alice')
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function isAbove(element: Locator, top: number): Promise<boolean> {
  const bounds = await element.boundingBox()
  return bounds !== null && bounds.height > 0 && bounds.y + bounds.height < top
}

function box(page: Page, scope: string): Locator {
  return page.locator(`input[name="scope.${scope}"]`)
}

async function focused(page: Page): Promise<string> {
  return page.evaluate<string>('(document.activeElement.labels?.[0] ?? document.activeElement).textContent')
}

/**
 * Returns the text that a screen reader reads for the line `Selected: …` next to the button. CSS counters create the
 * numbers of the line.
 */
async function chosen(page: Page): Promise<string> {
  const nodes = new Map((await accessibilityTree(page)).map((node) => [node.id, node]))
  const textOf = (id: string): string => {
    const { role, name, children } = nodes.get(id) ?? { role: '', name: '', children: [] }
    return role === 'StaticText' ? name : children.map(textOf).join('')
  }
  const lines = [...nodes.values()].filter(({ role }) => role === 'paragraph').map(({ id }) => textOf(id))
  return lines.find((line) => line.startsWith('Selected: ')) ?? ''
}

/**
 * Clicks a toggle, and waits for the new page. The server renders the page again, because a toggle is a submit button.
 */
async function press(page: Page, toggle: Locator): Promise<void> {
  await Promise.all([page.waitForEvent('domcontentloaded'), toggle.click()])
}

async function accessibilityTree(page: Page) {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  return nodes.map(({ nodeId, role, name, childIds }) => ({
    id: nodeId,
    role: String(role?.value ?? ''),
    name: String(name?.value ?? ''),
    children: childIds ?? [],
  }))
}
