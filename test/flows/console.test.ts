import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { createPageAudit } from '../fixtures/audit-page.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import { recordPageFaults } from '../fixtures/page-faults.ts'
import { send } from '../fixtures/send.ts'
import { shrinkPng } from '../fixtures/shrink-png.ts'
import { startRedis } from '../fixtures/start-redis.ts'

const IMAGES = join(findPackageRoot(), 'docs', 'images')
const MAX_IMAGE_BYTES = 100_000
const MAX_PAGE_BYTES = 100_000

/** The pages, their headings, and the name of the picture in docs/images/. */
const PAGES = [
  { path: '/', heading: 'Overview', picture: 'console-overview' },
  { path: '/console/routes', heading: 'Routes' },
  { path: '/console/route?name=test/either', heading: 'test/either', picture: 'console-route' },
  { path: '/console/route?name=test/open', heading: 'test/open' },
  { path: '/console/decisions', heading: 'Decisions' },
  { path: '/console/explain?method=GET&path=/api/either&token=valid&scopes=posts:read', heading: 'Explain' },
  { path: '/console/policies', heading: 'Policies', picture: 'console-policies' },
  { path: '/console/upstreams', heading: 'Upstreams' },
  { path: '/console/issuers', heading: 'Issuers' },
  {
    path: '/console/docs?name=runbooks/ScopegateUpstreamDown.md',
    heading: 'ScopegateUpstreamDown',
    isStatic: true,
  },
  { path: '/console/nothing', heading: 'Page not found', isStatic: true },
] as const

/** Two tests of `test/either`, of which one fails, and a test with a long name that matches no route. */
const TESTS = `tests:
  - it: allows a token with a scope of each list
    request: { method: GET, path: /api/either }
    token: { scope: "courses:read posts:read" }
    expect: { decision: allow, as: token, route: either }
  - it: allows a token with only courses:read
    request: { method: GET, path: /api/either }
    token: { scope: "courses:read" }
    expect: { decision: allow, route: either }
  - it: allows a path that does not exist ${'x'.repeat(200)}
    request: { method: GET, path: /api/eihter }
    expect: { decision: allow }
`

/** A gateway with Redis, an issuer of JWTs, failed tests of policies, denials, an upstream that fails, and invalid policies on the disk. */
const redis = await startRedis({ folder: tmpdir() })
t.teardown(() => redis.stop())
const jwtIssuer = await startJwtIssuer()
t.teardown(jwtIssuer.close)
const { gateway, upstream, issuer } = await startGatewayUnderTest(t, {
  policy: POLICY + TESTS,
  change: (config) => ({
    ...config,
    redis: { url: redis.url },
    management: { ...config.management, linkedConsole: 'http://127.0.0.1:9091' },
    issuers: [...config.issuers, aJwtIssuerConfig(jwtIssuer.issuer)],
  }),
})
const { url, managementUrl } = gateway
for (const path of ['/api/denied', '/api/challenged', '/pub/ok']) await send(url + path)
await send(`${url}/api/either`, { token: 'unknown-token' })
await upstream.close()
for (let count = 0; count < 5; count += 1) await send(`${url}/pub/failed`)
writeFileSync(
  join(t.testdirName, 'broken.policy.yaml'),
  'apiVersion: scopegate/v1\nkind: Policy\nname: broken\nupstream: api\ndefaults:\n  timout: 5s\nroutes:\n  - name: list\n    match: { methods: [GET], path: /api/list }\n',
)
await gateway.reload('endpoint')

const chrome = await launchChromium(t)
const context = await chrome.newContext()
t.teardown(() => context.close())
const page = await context.newPage()
await page.setViewportSize({ width: 1280, height: 400 })
const faults = recordPageFaults(context, managementUrl)

for (const { path, heading, ...more } of PAGES)
  t.test(`${path}: accessible in each color scheme and window, and by keyboard`, async (t) => {
    const isStatic = 'isStatic' in more || path.startsWith('/console/explain')
    const audit = await createPageAudit(page, { scripts: isStatic ? 0 : 1 })
    faults.length = 0
    const response = await page.goto(managementUrl + path)
    const { length } = (await response?.body()) ?? Buffer.from('')
    t.ok(length > 0 && length < MAX_PAGE_BYTES, `${length} bytes`)
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    const link = page.locator('nav a[href="http://127.0.0.1:9091"]')
    t.same(await link.allTextContents(), ['Authorization server'], 'the link to the other console')
    if (!isStatic) await page.getByText(/^(?:Live|Updated)/).waitFor()
    // Otherwise an update could replace an element during the audit.
    if (!isStatic) await page.getByRole('button', { name: 'Pause updates' }).click()
    t.same(await audit.findFaults('en'), [])
    if ('picture' in more) {
      const file = join(IMAGES, `${more.picture}-light.png`)
      if (process.env['DOCS_IMAGES'] !== undefined) {
        mkdirSync(IMAGES, { recursive: true })
        writeFileSync(file, shrinkPng(await page.screenshot({ fullPage: true })))
      }
      t.ok(existsSync(file) && statSync(file).size <= MAX_IMAGE_BYTES, `${file} exists and is small`)
    }
    t.same(await audit.findKeyboardFaults(), [], 'by keyboard')
    t.same(
      faults.filter((fault) => !fault.includes('status of 404')),
      [],
    )
  })

t.test('the list of routes leads to the tests of a route and to the reason of a failed test', async (t) => {
  await page.goto(`${managementUrl}/console/routes?show=failed-tests`)
  await page.getByText('Tests of the policies: 2 failed, 1 passed.').waitFor()
  await page.getByRole('heading', { name: 'Failed tests that match no route' }).waitFor()
  const row = page.getByRole('row', { name: 'test/either' })
  await row.getByRole('cell', { name: '1 failed, 1 passed', exact: true }).waitFor()
  await row.getByRole('link').click()
  const failed = page.getByRole('row', { name: /^allows a token with only courses:read failed/ })
  await failed.getByRole('cell', { name: 'GET /api/either' }).waitFor()
  await page.getByRole('row', { name: /^allows a token with a scope of each list passed/ }).waitFor()
  const text = await page.getByRole('main').textContent()
  t.match(text, /error\[T401\]: "allows a token with only courses:read": the decision is deny, not allow/)
  await page.getByRole('row', { name: /^scopes DENY needs all of: courses:read/ }).waitFor()
  await page.goto(`${managementUrl}/console/route?name=test/open`)
  await page.getByText('No test in a policy file belongs to this route.').waitFor()
  await page.getByText('request: { method: GET, path: "/pub/1" }').waitFor()
})

t.test('an open page shows new values, keeps the focus, and can be paused', async (t) => {
  await page.goto(`${managementUrl}/console/routes`)
  const row = page.getByRole('row', { name: 'test/small' })
  const link = row.getByRole('link')
  await link.focus()
  t.equal(await row.getByRole('cell').nth(4).textContent(), '0')
  await send(`${url}/api/small`, { body: 'x' })
  await row.getByRole('cell').nth(4).getByText('1', { exact: true }).waitFor()
  t.equal(await page.evaluate<string>('document.activeElement.textContent'), 'test/small')
  t.match(await page.getByText(/^Updated/).textContent(), /^Updated [\d:]{8} UTC$/)
  await page.getByRole('button', { name: 'Pause updates' }).click()
  await page.getByText('Paused').waitFor()
  t.match(await (await page.request.get(`${managementUrl}/livez`)).text(), 'ok')
  await page.getByRole('button', { name: 'Resume updates' }).click()
  await page.getByText(/^(?:Live|Updated)/).waitFor()
})

t.test('a person finds a denial by its request ID with one search, and explains the request', async (t) => {
  const token = issuer.store('token-of-app', { client_id: 'app-1', scope: 'posts:read' })
  const denied = await send(`${url}/api/courses`, { method: 'POST', token })
  await page.goto(`${managementUrl}/`)
  await page.getByRole('searchbox', { name: 'Request ID' }).fill(String(denied.json['request_id']))
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('heading', { name: 'deny: scope_missing' }).waitFor()
  const text = await page.getByRole('main').textContent()
  t.match(text, /test\.policy\.yaml:10:5/)
  t.match(text, 'scopes: the token lacks courses:write.')
  t.match(text, '403 insufficient_scope')
  t.match(text, /The client must\s*Request a token with the scopes courses:write/)
  t.match(
    text,
    /The policy owner can\s*If this token should be sufficient, change scopes of the route test\/create-course/,
  )
  const audit = await createPageAudit(page, { scripts: 0 })
  t.same(await audit.findFaults('en'), [])

  await page.getByRole('link', { name: /^Explain this request/ }).click()
  await page.getByRole('heading', { name: 'POST /api/courses: deny' }).waitFor()
  t.equal(await page.getByLabel('Scopes').inputValue(), 'posts:read', 'the scopes of the token')
  await page.getByLabel('Scopes').fill('courses:write')
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByRole('heading', { name: 'POST /api/courses: allow' }).waitFor()
})

t.test('the open list of decisions shows a new request, and has filters', async (t) => {
  await page.goto(`${managementUrl}/console/decisions`)
  await page.getByText(/^(?:Live|Updated)/).waitFor()
  const denied = await send(`${url}/api/denied?query=secret-of-query`)
  await send(`${url}/api/courses/new`)
  const rows = page.locator('tbody tr')
  await rows.filter({ hasText: '/api/courses/new' }).waitFor()
  await page.getByLabel('Path contains').fill('/api/denied')
  await page.getByRole('button', { name: 'Filter' }).click()
  await rows.filter({ hasText: '/api/denied' }).first().waitFor()
  t.equal(await rows.filter({ hasNotText: '/api/denied' }).count(), 0)
  t.notMatch(await page.content(), 'secret-of-query')
  await page.getByRole('link', { name: String(denied.json['request_id']) }).click()
  await page.getByRole('heading', { name: 'deny: token_missing' }).waitFor()
})

for (const [path, summary, field, value] of [
  ['/console/decisions', 'Policy file contains', 'Path contains', '/api/denied'],
  ['/console/routes', 'Only routes', 'Path or name', 'test/denied'],
] as const)
  t.test(`${path}: a narrow window shows the list before the filters, without scripts`, async (t) => {
    const narrow = await chrome.newContext({
      javaScriptEnabled: false,
      viewport: { width: 320, height: 720 },
    })
    t.teardown(() => narrow.close())
    const page = await narrow.newPage()
    await page.goto(managementUrl + path)
    const filters = page.getByText('Filters', { exact: true })
    const rows = page.locator('table').first().locator('tbody tr')
    const below = async () =>
      ((await rows.first().boundingBox())?.y ?? 0) - ((await filters.boundingBox())?.y ?? 0)
    t.notOk(await page.getByLabel(field).isVisible(), 'the filters are closed')
    t.ok((await below()) < 200, 'the list is below the closed filters')

    await filters.focus()
    await page.keyboard.press('Enter')
    for (const label of [summary, field]) t.ok(await page.getByLabel(label).isVisible(), label)
    await page.keyboard.press('Tab')
    await page.getByLabel(field).fill(value)
    await page.keyboard.press('Enter')
    await page.waitForURL(/[?&]path=/)
    t.equal(await page.getByLabel(field).inputValue(), value, 'the filters are open, because one is set')
    t.ok(await page.getByLabel(field).isVisible())
    t.equal(await rows.filter({ hasNotText: value }).count(), 0)

    await page.setViewportSize({ width: 1280, height: 720 })
    await page.goto(managementUrl + path)
    t.ok(await page.getByLabel(field).isVisible(), 'a wide window shows the filters')
    t.notOk(await filters.isVisible(), 'a wide window has nothing to open')
  })
