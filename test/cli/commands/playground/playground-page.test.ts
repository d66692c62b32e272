import t from 'tap'
import { readExample } from '../../../../cli/commands/playground/initial-files.ts'
import { startPlayground } from '../../../../cli/commands/playground/playground-server.ts'
import { createPageAudit } from '../../../fixtures/audit-page.ts'
import { launchChromium } from '../../../fixtures/launch-chromium.ts'
import { recordPageFaults } from '../../../fixtures/page-faults.ts'

const POLICY = 'textarea[data-file="policies/courses.policy.yaml"]'
const server = await startPlayground({ port: 0, input: readExample() })
t.teardown(() => server.close())
const chrome = await launchChromium(t)
const context = await chrome.newContext()
t.teardown(() => context.close())
const page = await context.newPage()
const faults = recordPageFaults(context, new URL(server.url).origin)
const status = page.locator('#status')
const results = page.locator('#results')

t.test('shows errors and decisions after each change, without a new page', async (t) => {
  await page.goto(server.url)
  await results.getByText('403 Forbidden').waitFor()
  const text = await page.inputValue(POLICY)
  await page.fill(POLICY, text.replace('[courses:write]', '[curses:write]'))
  await results.getByText('did you mean "courses:write"?').waitFor()
  t.equal(await status.textContent(), '1 error')
  await page.click('text=Go to policies/courses.policy.yaml:25')
  const selected = await page.evaluate(
    '(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)',
  )
  t.equal(selected, '    scopes: { all: [curses:write] }')
  const audit = await createPageAudit(page)
  t.same(await audit.findRuleFaults(), [], 'with an error')
  await page.fill(POLICY, text)
  await page.click('text=Add a file')
  await page.fill('#new', 'policies/orders.policy.yaml')
  await page.keyboard.press('Enter') // the default button adds the file, and removes no other file
  await page.locator('textarea[data-file="policies/orders.policy.yaml"]:focus').waitFor()
  t.equal(await page.locator('textarea[data-file]').count(), 6)
  await page.click('text=Remove policies/orders.policy.yaml')
  await page.locator('textarea[data-file="policies/orders.policy.yaml"]').waitFor({ state: 'detached' })
  await page.fill('#request', 'PATCH /api/courses/42 --scope courses:write')
  await results.getByText('The gateway forwards the request to learning-platform').waitFor()
  t.match(await status.textContent(), /^ok: 1 policy/)
})

t.test('a link contains the texts in its fragment, which the browser does not send', async (t) => {
  const text = await page.inputValue(POLICY)
  await page.fill(POLICY, `# Grüße\n${text}`)
  await page.fill('#request', 'GET /api/courses/9')
  await page.click('#share')
  await page.getByText('Copy the address').waitFor()
  const sent: string[] = []
  const other = await context.newPage()
  other.on('request', (request) => sent.push(request.url()))
  await other.goto(page.url())
  await other.locator('#results').getByText('HTTP/1.1 401 Unauthorized').waitFor()
  t.equal(await other.inputValue(POLICY), `# Grüße\n${text}`)
  t.equal(await other.inputValue('#request'), 'GET /api/courses/9')
  t.ok(
    sent.every((url) => url.split('#')[0] === server.url),
    sent.join(),
  )
  await other.goto('about:blank')
  await other.goto(`${server.url}#AAAA`)
  await other.locator('#status').getByText('The link is not complete.').waitFor()
  await other.close()
})

t.test('accessible in each color scheme and window, and by keyboard', async (t) => {
  await page.goto('about:blank')
  await page.goto(server.url)
  const audit = await createPageAudit(page)
  t.same(await audit.findRuleFaults(), [])
  await page.click('#notes summary')
  t.same(await audit.findRuleFaults(), [], 'with open notes')
  await page.focus('details[open] summary')
  await page.keyboard.press('Tab')
  t.equal(await page.evaluate('document.activeElement.dataset.file'), 'policies/courses.policy.yaml')
  // The button that removes the file, and the summaries of the other files.
  for (let at = 0; at < 6; at += 1) await page.keyboard.press('Tab')
  t.equal(await page.evaluate('document.activeElement.id'), 'request', 'Tab leaves the text areas')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await results.getByText('403 Forbidden').waitFor()
})

t.test('works without its script', async (t) => {
  const plain = await chrome.newContext({ javaScriptEnabled: false })
  t.teardown(() => plain.close())
  const form = await plain.newPage()
  await form.goto(server.url)
  t.equal(
    await form.locator('button[type="button"]:visible').count(),
    0,
    'shows no button that requires the script',
  )
  await form.fill(POLICY, 'apiVersion: scopegate/v1\n')
  await form.click('text=Check and explain')
  await form.locator('#results').getByText('Correct the errors').waitFor()
  t.equal(await form.inputValue(POLICY), 'apiVersion: scopegate/v1\n')
})

t.test('reports that the server ended', async (t) => {
  await server.close()
  await page.fill('#request', 'GET /')
  await status.getByText('Is scopegate playground still running?').waitFor()
  t.same(
    faults.filter((fault) => !fault.includes('ERR_CONNECTION_REFUSED')),
    [],
  )
})
