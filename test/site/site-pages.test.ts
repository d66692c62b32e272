import type { BrowserContext, Page } from 'playwright-core'
import t from 'tap'
import { buildSite, VERSION } from '../fixtures/a-site.ts'
import { ALL_VIEWS, createPageAudit } from '../fixtures/audit-page.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'

// These tests open pages of the documentation site in Chromium: one page of each layout, or all pages with
// SITE_PAGES=all (`npm run soak:site`).
const KINDS = [
  'index.html', // tables of links
  'limits.html', // wide tables
  'request-path.html', // a diagram
  'decisions/0106-build-the-documentation-site-with-a-markdown-library.html', // a list below an index in the menu
  'files/examples/decision-mode/nginx/nginx.conf.html', // the text of a file
]
const MAX_FIRST_PAGE_BYTES = 100_000
const site = buildSite(t)
const url = await site.serve()
const chromium = await launchChromium(t)

/** Opens a tab, and records its requests and the messages of its console. */
async function openTab(context: BrowserContext) {
  const page = await context.newPage()
  const faults: string[] = []
  let bytes = 0
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) faults.push(`request to ${request.url()}`)
  })
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  const open = async (address: string) => {
    await page.goto(`${url}${address}`)
    await page.locator('header input:enabled').waitFor()
  }
  return { page, open, faults, bytes: () => bytes }
}

const pages = process.env['SITE_PAGES'] === 'all' ? site.pages : KINDS

t.test(
  'no page has a violation of axe-core, an error in the console, or a request to another origin',
  async (t) => {
    const context = await chromium.newContext()
    const { page, open, faults } = await openTab(context)
    const audit = await createPageAudit(page)
    let views = 0
    for (const address of pages) {
      await open(address)
      // axe-core cannot determine the background of text outside of the visible part of a table or of the menu.
      const found = (await audit.findRuleFaults(ALL_VIEWS)).filter(
        (fault) => !fault.includes('incomplete of color-contrast'),
      )
      views += ALL_VIEWS.length
      t.same([...found, ...faults.splice(0)], [], address)
    }
    t.comment(`${pages.length} pages, ${views} views`)
    await context.close()
  },
)

t.test('Tab reaches every control of a page, and the focus is visible', async (t) => {
  const context = await chromium.newContext()
  const { page, open } = await openTab(context)
  const audit = await createPageAudit(page)
  // A walk needs one message to the browser for each control, so only the complete run includes pages with many links.
  for (const address of pages === KINDS ? KINDS.slice(-1) : pages) {
    await open(address)
    await audit.findRuleFaults([])
    const found = await audit.findKeyboardFaults()
    // The menu scrolls separately, so the position of its links in the window is not their order.
    t.same(
      found.filter((fault) => !fault.startsWith('not the visual order')),
      [],
      address,
    )
  }
  await context.close()
})

t.test('the first page transfers less than 100 KB', async (t) => {
  const context = await chromium.newContext()
  const { open, bytes, page } = await openTab(context)
  await open('index.html')
  await page.waitForLoadState('networkidle')
  t.ok(bytes() > 5_000 && bytes() < MAX_FIRST_PAGE_BYTES, `${bytes()} bytes`)
  t.comment(`${bytes()} bytes`)
  await context.close()
})

t.test('a person finds a configuration key with the keyboard', async (t) => {
  const context = await chromium.newContext()
  const { page, open, faults } = await openTab(context)
  await open('errors/C001.html')
  // The script enables the search.
  const search = page.locator('search input:enabled')
  await search.waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('tokenCache.negativeTtl')
  const first = page.locator('.results a').first()
  t.match(await first.textContent(), 'tokenCache.negativeTtl')
  t.match(await page.locator('search [role=status]').textContent(), /^\d+ results?$/)
  await page.keyboard.press('ArrowDown')
  t.equal(await first.evaluate((link) => link.matches(':focus')), true)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${url}configuration.html#gatewayyaml.tokencache-negativettl`)
  t.equal(await page.locator('tr:target td').first().isVisible(), true)
  await search.waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('nosuchword')
  await page.locator('.results p').waitFor()
  await page.keyboard.press('Escape')
  t.equal(await page.locator('.results').isVisible(), false)
  t.same(faults, [])
  await context.close()
})

t.test('the chosen color scheme remains on the next page', async (t) => {
  const context = await chromium.newContext({ colorScheme: 'light' })
  const { page, open } = await openTab(context)
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  await open('index.html')
  const light = await ground()
  const button = page.getByRole('button', { name: /^Colors/ })
  await button.click()
  await button.click()
  t.equal(await button.textContent(), 'Colors: dark')
  const dark = await ground()
  t.not(dark, light)
  await open('tls.html')
  t.equal(await ground(), dark)
  await context.close()
})

t.test('the version list offers the versions beside this version', async (t) => {
  const context = await chromium.newContext()
  const { page, open } = await openTab(context)
  await open('errors/C001.html')
  const select = page.getByLabel('Version')
  t.equal(await select.inputValue(), VERSION)
  await select.selectOption('1.1.0')
  await page.waitForURL(url.replace(VERSION, '1.1.0'))
  await page.goto(url.replace(`${VERSION}/`, ''))
  await page.waitForURL(url)
  await context.close()
})

t.test('a page without scripts shows its text and its menu', async (t) => {
  const context = await chromium.newContext({
    javaScriptEnabled: false,
    viewport: { width: 1280, height: 800 },
  })
  const page: Page = await context.newPage()
  await page.goto(`${url}tls.html`)
  t.equal(await page.locator('main h1').isVisible(), true)
  t.equal(await page.locator('nav [aria-current=page]').isVisible(), true)
  await context.close()
})
