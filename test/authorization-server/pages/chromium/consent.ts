import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { sendDocument } from '../../../fixtures/a-document-host.ts'
import {
  ALL_SCOPES,
  agents,
  documentRequest,
  openSignIn,
  READ_SCOPES,
  server,
  signIn,
  WINDOW,
  WRITE_SCOPES,
} from './browser.ts'

t.test('of 35 scopes, the read scopes are ticked, and Allow grants these scopes', async (t) => {
  const { page, allow } = await openConsent(t, { scopes: ALL_SCOPES })
  for (const name of ALL_SCOPES) t.equal(await box(page, name).isChecked(), READ_SCOPES.includes(name), name)
  t.equal(await chosen(page), `Selected: ${READ_SCOPES.length} of 35, 0 can change data`)
  const nodes = await accessibilityTree(page)
  const names = nodes.filter(({ role }) => role === 'checkbox').map(({ name }) => name)
  t.equal(
    names.length,
    35 + 1 + 15,
    'one for each scope, one for all, one for each group with more than one scope',
  )
  t.equal(new Set(names).size, names.length, 'the names are unique')
  t.notOk(names.includes(''))
  t.same(await allow(), READ_SCOPES, 'the token response names the granted scopes')
})

t.test('up to three write scopes are ticked', async (t) => {
  const scopes = ['courses:read', ...WRITE_SCOPES.slice(0, 3)]
  const { page, allow } = await openConsent(t, { scopes })
  t.equal(await chosen(page), 'Selected: 4 of 4, 3 can change data')
  t.same(await allow(), scopes)
})

t.test('the checkboxes for a group and for all scopes work without JavaScript', async (t) => {
  const { page, allow } = await openConsent(t, { scopes: ALL_SCOPES })
  const courses = page.getByRole('checkbox', { name: 'All of Courses' })
  const everything = page.getByRole('checkbox', { name: 'Everything' })
  t.equal(await courses.getAttribute('aria-checked'), 'mixed')
  await box(page, 'pages:read').uncheck()
  await press(page, courses)
  t.equal(await chosen(page), `Selected: ${READ_SCOPES.length} of 35, 1 can change data`)
  t.ok(await box(page, 'courses:write').isChecked())
  t.notOk(await box(page, 'pages:read').isChecked(), 'other ticks stay')
  await press(page, everything)
  t.equal(await chosen(page), `Selected: 35 of 35, ${WRITE_SCOPES.length} can change data`)
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

t.test('Allow is filled and Cancel is not, in both color schemes', async (t) => {
  const { page } = await openConsent(t, { scopes: ['courses:read'] })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const background = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`)
    t.equal(await background('[formaction$="/cancel"]'), 'rgba(0, 0, 0, 0)', colorScheme)
    t.match(await background('.actions button'), /^rgb\(/, colorScheme)
  }
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
  const { host, domains } = agents
  const { page } = await openSignIn(t, 'openid')
  await page.setViewportSize({ width: 320, height: 800 })
  t.teardown(() => page.setViewportSize(WINDOW))
  await signIn(page, 'alice')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  const earlier = host.requests.length
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
    await page.goto(documentRequest(clientId, `https://${domain}/callback`))
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
    host.requests.slice(earlier),
    HOSTILE_NAMES.map((_name, index) => `/client-${index}`),
  )
  t.same([...requested], [server.baseUrl], 'the browser fetches nothing from the agent')
})

/** Opens the consent page in a browser without JavaScript. */
async function openConsent(t: Test, { scopes }: { readonly scopes: readonly string[] }) {
  const { page, app, client, verifier } = await openSignIn(t, scopes.join(' '))
  await signIn(page, 'alice')
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

function box(page: Page, scope: string): Locator {
  return page.locator(`input[name="scope.${scope}"]`)
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
