import type { BrowserContext, Page } from 'playwright-core'
import t from 'tap'
import { buildSite, VERSION } from '../fixtures/a-site.ts'
import { ALL_VIEWS, createPageAudit, type PageAudit } from '../fixtures/audit-page.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import { recordPageFaults } from '../fixtures/page-faults.ts'

// These tests open pages of the documentation site in Chromium: one page of each layout, all pages with
// SITE_PAGES=all (`npm run soak:site`), or the pages in SITE_PAGES, separated by spaces.
const KINDS = [
  'index.html', // tables of links
  'limits.html', // wide tables
  'request-path.html', // a diagram
  'decisions/0106-build-the-documentation-site-with-a-markdown-library.html', // a list below an index in the menu
  'files/examples/decision-mode/nginx/nginx.conf.html', // the text of a file
]
const MAX_FIRST_PAGE_BYTES = 100_000
type Walk = {
  readonly page: Page
  readonly audit: PageAudit
  /** Texts of the menus of earlier pages. */
  readonly menus: Set<string | null>
}

const site = buildSite(t)
const url = await site.serve()
const chromium = await launchChromium(t)

/** Opens a tab, and records its requests and the messages of its console. */
async function openTab(context: BrowserContext) {
  const page = await context.newPage()
  const faults = recordPageFaults(context, new URL(url).origin)
  let bytes = 0
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

const { SITE_PAGES } = process.env
const pages = SITE_PAGES === 'all' ? site.pages : (SITE_PAGES?.split(' ') ?? KINDS)

/** The layout of the rest of the page stays the same. */
const HIDE_SHARED_PARTS = `
  document.querySelector('header').style.visibility = 'hidden'
  document.querySelector('.menu nav').replaceChildren()`

/** Returns the faults of the open page in each window and color scheme, and its faults for the keyboard. */
async function findPageFaults({ page, audit, menus }: Walk): Promise<readonly string[]> {
  // Hundreds of pages have the same header, and the same menu with more than 200 links. The first page shows them.
  const menu = await page.locator('.menu').textContent()
  if (menus.has(menu)) await page.evaluate(HIDE_SHARED_PARTS)
  menus.add(menu)
  const found: string[] = []
  for (const [window, views] of Map.groupBy(ALL_VIEWS, (view) => view.window)) {
    await audit.setWindow(window)
    // The next frame has the layout of the window. A narrow window closes the menu.
    await page.evaluate(
      "new Promise(requestAnimationFrame).then(() => { document.querySelector('.menu').open = true })",
    )
    found.push(...(await audit.findRuleFaults(views)))
    for (const fault of await audit.findKeyboardFaults()) found.push(`${window.name}: ${fault}`)
  }
  return found.filter(
    (fault) =>
      // axe-core cannot determine the background of text outside of the visible part of a table or of the menu.
      !fault.includes('incomplete of color-contrast') &&
      // The menu scrolls separately, so the position of its links in the window is not their order.
      !fault.includes('not the visual order'),
  )
}

t.test(
  'each page passes axe-core and the keyboard check, without console messages and requests to other origins',
  async (t) => {
    const queue = pages.values()
    const menus = new Set<string | null>()
    const walk = async () => {
      const context = await chromium.newContext()
      const { page, open, faults } = await openTab(context)
      const audit = await createPageAudit(page)
      for (const address of queue) {
        await open(address)
        t.same([...(await findPageFaults({ page, audit, menus })), ...faults.splice(0)], [], address)
      }
      await context.close()
    }
    // Each context has its own process of the browser.
    await Promise.all([walk(), walk()])
    t.comment(`${pages.length} pages, ${pages.length * ALL_VIEWS.length} views, ${menus.size} menus`)
  },
)

t.test('the check finds the faults of one control, of one window and of one color scheme', async (t) => {
  const context = await chromium.newContext()
  const { page, open, faults } = await openTab(context)
  await open('files/examples/decision-mode/nginx/nginx.conf.html')
  await page.evaluate(`(() => {
    document.documentElement.lang = ''
    const [brand, version, scheme, footer] = document.querySelectorAll('.brand, select, .scheme, footer')
    brand.style.outline = 'none'
    version.onfocus = () => version.blur()
    scheme.tabIndex = -1
    footer.style.width = '330px'
    footer.style.color = 'light-dark(#000, #333)'
    fetch('http://127.0.0.1:1/').catch(() => {})
  })()`)
  const audit = await createPageAudit(page)
  const found = await findPageFaults({ page, audit, menus: new Set() })
  for (const fault of [
    /^1280 px, light: violations of html-has-lang: /,
    /^1280 px, dark: violations of color-contrast: footer > p: /,
    /^1280 px: no focus ring: a 2 "Scopegate"$/,
    /^1280 px: Tab does not reach: select 1 /,
    /^1280 px: Tab does not reach: button 1 /,
    /^320 px, light: the page is 330 px wide$/,
    /^320 px, dark: the page is 330 px wide$/,
    /^320 px, light: violations of html-has-lang: /,
    /^320 px, dark: violations of color-contrast: footer > p: /,
    /^320 px: no focus ring: a 2 "Scopegate"$/,
    /^320 px: Tab does not reach: select 1 /,
    /^320 px: Tab does not reach: button 1 /,
  ])
    t.equal(found.filter((one) => fault.test(one)).length, 1, `${fault}`)
  t.equal(found.length, 12, found.join('\n'))
  t.match(faults.join('\n'), /^console: .*Content Security Policy/)
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
