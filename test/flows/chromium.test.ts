import t from 'tap'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import { listenAsLoopbackClient } from '../fixtures/loopback-client.ts'
import { recordPageFaults } from '../fixtures/page-faults.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

const scopegate = await startScopegate(t)
const chrome = await launchChromium(t)

for (const javaScriptEnabled of [true, false]) {
  const mode = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript'

  t.test(
    `in Chromium ${mode}, a user signs in and consents, and the native app gets the authorization code`,
    async (t) => {
      const app = await listenAsLoopbackClient(t)
      const client = await registerClient(scopegate, {
        client_name: 'Chromium <b>flow</b>',
        redirect_uris: [app.redirectUri],
      })
      const context = await chrome.newContext({ javaScriptEnabled })
      t.teardown(() => context.close())
      const page = await context.newPage()
      const faults = recordPageFaults(context)

      const { verifier, challenge } = makePkce()
      await page.goto(client.authorizeUrl('openid profile courses:read', challenge).href)
      await page.locator('input[type=password]').waitFor()
      await page.locator('input[type=text], input[type=email]').first().fill('alice')
      await page.locator('input[type=password]').fill('wrong')
      await page.locator('input[type=password]').press('Enter')
      await page
        .getByText(/wrong|not right|incorrect|do not match|not correct/i)
        .first()
        .waitFor()
      await page.locator('input[type=text], input[type=email]').first().fill('alice')
      await page.locator('input[type=password]').fill('alice')
      await page.locator('input[type=password]').press('Enter')

      await page.getByRole('button', { name: /allow/i }).waitFor()
      const words = await page.locator('body').textContent()
      t.match(words, 'Chromium <b>flow</b>', "the app's name is shown as text")
      t.match(words, `127.0.0.1:${new URL(app.redirectUri).port}`, 'the page shows the redirect target')
      const arrives = app.nextCallback()
      await page.getByRole('button', { name: /allow/i }).click()
      const redirect = await arrives
      await page.getByText('You can close this window.').waitFor()
      t.equal(redirect.searchParams.get('state'), 'a-state')
      t.equal(redirect.searchParams.get('iss'), scopegate.baseUrl)

      const code = redirect.searchParams.get('code') ?? ''
      scopegate.secret(code)
      const tokens = client.readTokens(await client.exchange({ code, verifier }))
      t.equal((await send(`${scopegate.baseUrl}/api/courses`, { token: tokens.accessToken })).status, 200)
      t.same(
        (await context.cookies()).filter(({ httpOnly }) => !httpOnly),
        [],
        'scripts can read no cookie',
      )
      t.same(
        faults.filter((fault) => /Content.Security.Policy|refused/i.test(fault)),
        [],
        'the pages comply with their Content Security Policy',
      )
    },
  )
}
