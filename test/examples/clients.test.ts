import { once } from 'node:events'
import { resolve } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../cli/main.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { createPageAudit } from '../fixtures/audit-page.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// These tests run the clients of examples/ as their README files describe.
const EXAMPLES = resolve(import.meta.dirname, '../../examples')
const { baseUrl, dataDir } = await startScopegate(t)

/** Starts a program of an example, and collects its output. */
function start(t: Pick<Test, 'teardown'>, file: string, args: readonly string[]) {
  const child = spawnPlainly(process.execPath, [resolve(EXAMPLES, file), ...args])
  t.teardown(() => child.kill())
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text))
  return { child, said, ended: once(child, 'close') }
}

for (const dpop of [[], ['--dpop']])
  t.test(`native-client${dpop.join()} signs in, refreshes and asks for a missing scope`, async (t) => {
    const browser = openBrowser(baseUrl)
    const { child, said, ended } = start(t, 'native-client/main.ts', ['--api', baseUrl, ...dpop])
    child.stdin.end('GET /api/courses\nrefresh\nGET /api/courses?limit=1\nPOST /api/courses\n')
    const allow = async (number: number) => {
      const url = await until(`authorization request ${number}`, async () =>
        [...said.err.matchAll(/http\S+\/authorize\S+/g)].map(([found]) => found).at(number),
      )
      await fetch(await signIn(browser, url))
      return new URL(url).searchParams
    }
    t.equal((await allow(0)).get('scope'), 'openid courses:read')
    const asked = await allow(1)
    t.match(asked.get('scope')?.split(' ').toSorted(), ['courses:read', 'courses:write', 'openid'])
    t.match(asked.get('redirect_uri'), /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
    t.same(await ended, [0, null], said.err)
    const statuses = [...said.out.matchAll(/^(\d{3}) /gm)].map(([, status]) => status)
    t.same(statuses, ['200', '200', '400'], 'the API itself rejects the empty course')
    t.match(said.err, 'The app refreshed its access token.')
  })

t.test('browser-client signs in, shows errors, and asks for a missing scope', async (t) => {
  const { said } = start(t, 'browser-client/serve.js', [baseUrl, '0'])
  const url = await until('the address of the page', async () => /http:\S+/.exec(said.out)?.[0])
  const chrome = await launchChromium(t)
  const context = await chrome.newContext()
  t.teardown(() => context.close())
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto(url)
  const [status, problem, access] = ['#status', '#problem', '#access'].map((id) => page.locator(id))

  await page.click('#list')
  await status?.getByText('courses').waitFor()
  await page.click('#create')
  await problem?.getByText('403 access_denied').waitFor()
  await page.click('#sign-in')
  await page.fill('input[name="username"]', 'alice')
  await page.fill('input[type="password"]', 'alice')
  await page.click('button[type="submit"], button:not([type])')
  await page.getByRole('button', { name: /allow/i }).click()
  await status?.getByText('Signed in').waitFor()
  t.equal(page.url(), url, 'the address contains no code')
  t.match(await access?.textContent(), 'courses:read')
  t.same(await page.evaluate('[...Object.keys(sessionStorage), ...Object.keys(localStorage)]'), [])

  await page.click('#create')
  await problem?.getByText('403 insufficient_scope').waitFor()
  t.same(await (await createPageAudit(page)).findRuleFaults(), [])
  await page.getByRole('button', { name: 'Allow: courses:write' }).click()
  await page.getByRole('button', { name: /allow/i }).click()
  await status?.getByText('Signed in').waitFor()
  await page.click('#create')
  await status?.getByText('Created: From the browser').waitFor()

  t.equal(await main(['grant', 'revoke', '--account', 'alice', '--data', dataDir], aTerminal()), 0)
  await page.click('#list')
  await problem?.getByText('The access ended: 400 invalid_grant').waitFor()
  t.equal(await access?.textContent(), 'none')
  t.match(await page.textContent('#more'), /^Allow: .*courses:write/)

  await page.goto(`${url}?state=forged&code=x&iss=${encodeURIComponent(baseUrl)}`)
  await problem?.getByText('belongs to another request').waitFor()
  await context.setOffline(true)
  await page.click('#list')
  await problem?.getByText('No response from').waitFor()
  t.same(errors, [])
})
