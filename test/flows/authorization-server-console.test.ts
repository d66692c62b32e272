import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { createPageAudit } from '../fixtures/audit-page.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { introspect } from '../fixtures/introspect.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { recordPageFaults } from '../fixtures/page-faults.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { shrinkPng } from '../fixtures/shrink-png.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const IMAGES = join(findPackageRoot(), 'docs', 'images')
const MAX_IMAGE_BYTES = 100_000
const MAX_PAGE_BYTES = 100_000
const TOKEN = 'correct-horse-battery-staple-0123456789'
const HOSTILE = `</td><script>document.title = 'run'</script><img src=x onerror="document.title = 'run'">`
recordCredential(TOKEN)

const folder = mkdtempSync(join(tmpdir(), 'scopegate-console-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const adminTokenFile = join(folder, 'admin-token')
writeFileSync(adminTokenFile, TOKEN)
const management = { host: '127.0.0.1', port: 0, adminTokenFile, linkedConsole: 'http://127.0.0.1:9090' }
const server = await startServer(t, { management })
const { managementUrl } = server
const obtain = async (name: string, person?: { readonly username: string; readonly password: string }) => {
  const client = await registerClient(server, { client_name: name })
  const asking = { browser: openBrowser(server.baseUrl), scope: 'openid courses:read' }
  const { accessToken } = await client.obtainTokens(person === undefined ? asking : { ...asking, person })
  return { client, accessToken }
}
const planner = await obtain('Course Planner')
const hostile = await obtain(HOSTILE, { username: 'bob', password: 'bob' })

const chrome = await launchChromium(t)
const context = await chrome.newContext()
t.teardown(() => context.close())
const page = await context.newPage()
await page.setViewportSize({ width: 1280, height: 400 })
const faults = recordPageFaults(context, managementUrl)

/** Checks the open page, and its pictures in docs/images/. */
async function check(t: Test, heading: string, { picture = '', scripts = 0 } = {}): Promise<void> {
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  const link = page.locator('nav a[href="http://127.0.0.1:9090"]')
  t.same(await link.allTextContents(), ['Gateway'], 'the link to the other console')
  const length = Buffer.byteLength(await page.content())
  t.ok(length < MAX_PAGE_BYTES, `${heading}: ${length} bytes`)
  if (scripts > 0) await page.getByRole('button', { name: 'Pause updates' }).click()
  const audit = await createPageAudit(page, { scripts })
  t.same(await audit.findFaults('en'), [], heading)
  if (picture !== '') {
    const file = join(IMAGES, `${picture}-light.png`)
    if (process.env['DOCS_IMAGES'] !== undefined) {
      await page.emulateMedia({ colorScheme: 'light' })
      writeFileSync(file, shrinkPng(await page.screenshot({ fullPage: true })))
    }
    t.ok(existsSync(file) && statSync(file).size <= MAX_IMAGE_BYTES, `${file} exists and is small`)
  }
  t.same(await audit.findKeyboardFaults(), [], `${heading}, by keyboard`)
  t.same(
    faults.splice(0).filter((fault) => !/status of 40[14]/.test(fault)),
    [],
    `${heading}, faults`,
  )
}

t.test('the overview shows no person and no client', async (t) => {
  await page.goto(managementUrl)
  await check(t, 'Overview', { picture: 'console-server-overview', scripts: 1 })
  t.notMatch(await page.content(), /alice|Course Planner/)
})

t.test('an operator signs in, finds a grant and revokes it', async (t) => {
  await page.goto(`${managementUrl}/console/grants?account=bob`)
  await check(t, 'Sign in')
  await page.getByLabel('Admin token').fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('This token is not correct.').waitFor()
  await page.getByLabel('Admin token').fill(TOKEN)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await check(t, 'Grants')
  t.equal(page.url(), `${managementUrl}/console/grants?account=bob`)
  t.equal(await page.getByRole('link', { name: /^Revoke the grant/ }).count(), 1)

  await page.getByRole('link', { name: /^Revoke the grant of bob/ }).click()
  await check(t, 'Revoke access')
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('status').getByText('1 grant revoked.').waitFor()
  t.equal((await introspect(server, hostile.accessToken))['active'], false)
  t.equal((await introspect(server, planner.accessToken))['active'], true)
  await page.reload()
  t.equal(await page.getByRole('status').count(), 0, 'shows the result once')
})

t.test('the lists are accessible and run no script of a client', async (t) => {
  await page.goto(`${managementUrl}/console/clients`)
  await check(t, 'Clients', { picture: 'console-server-clients' })
  t.match(await page.getByRole('main').textContent(), "</td><script>document.title = 'run'")
  await page.getByRole('link', { name: 'Course Planner', exact: true }).click()
  await check(t, 'Course Planner')
  await page.goto(`${managementUrl}/console/grants`)
  await check(t, 'Grants')
  await page.goto(`${managementUrl}/console/client?client=${hostile.client.clientId}`)
  t.match(await page.title(), /^<\/td><script>/)
  t.same(faults.splice(0), [])
})

t.test('a page of another origin cannot revoke, also with the cookie of the operator', async (t) => {
  const foreign = await context.newPage()
  await foreign.goto(`${server.baseUrl}/.well-known/oauth-authorization-server`)
  // Another port of the same host is the same site, so the browser sends the cookie.
  await foreign.evaluate(`(() => {
    const form = document.createElement('form')
    form.method = 'post'
    form.action = ${JSON.stringify(`${managementUrl}/console/revoke`)}
    form.innerHTML = '<input name="account" value="alice">'
    document.body.append(form)
    form.submit()
  })()`)
  await foreign.getByText('accepts only forms of its own pages').waitFor()
  t.equal((await introspect(server, planner.accessToken))['active'], true)
  await foreign.close()
})

t.test('after the sign-out, the lists are closed', async (t) => {
  await page.goto(`${managementUrl}/console/clients`)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('link', { name: 'Sign in' }).waitFor()
  t.same(await context.cookies(), [])
  await page.goto(`${managementUrl}/console/clients`)
  await page.getByLabel('Admin token').waitFor()
})
