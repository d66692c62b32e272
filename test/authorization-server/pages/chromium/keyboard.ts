import type { Page } from 'playwright-core'
import t from 'tap'
import { ENDPOINTS } from '../../../../oauth/endpoints.ts'
import { openSignIn, server, signIn, waitForFocus } from './browser.ts'

t.test('with the keyboard only, a person signs in, allows an app, removes it and signs out', async (t) => {
  const { page, app, client, verifier } = await openSignIn(t, 'openid courses:read courses:write orders:read')
  await page.keyboard.type('alice') // the field has the focus
  await page.keyboard.press('Tab')
  await page.keyboard.type('alice')
  await follow(page, 'Enter')
  await tabTo(page, 'All of Courses')
  await follow(page, 'Space')
  await waitForFocus(page)
  t.equal(await focused(page), 'All of Courses', 'the toggle keeps the focus on the new page')
  await tabTo(page, 'Allow')
  const arrives = app.nextCallback()
  await follow(page, 'Enter')
  const code = (await arrives).searchParams.get('code') ?? ''
  server.secret(code)
  t.equal(client.readTokens(await client.exchange({ code, verifier })).scope, 'openid orders:read')

  await page.goto(server.baseUrl + ENDPOINTS.account)
  await tabTo(page, 'Remove access')
  await follow(page, 'Enter')
  await page.getByRole('status').getByText('The app has no access').waitFor()
  await tabTo(page, 'Sign out')
  await follow(page, 'Space')
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await tabTo(page, 'Sign in to see your account')
  await follow(page, 'Enter')
  await page.getByLabel('Password').waitFor()
})

t.test('on the consent page, Enter in a checkbox does not change it', async (t) => {
  const { page } = await openSignIn(t, 'courses:read courses:write orders:read')
  await signIn(page, 'alice')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await tabTo(page, 'See orders')
  await page.keyboard.press('Space')
  await tabTo(page, 'See courses')
  await follow(page, 'Enter')
  const box = (scope: string) => page.locator(`input[name="scope.${scope}"]`)
  t.ok(await box('courses:read').isChecked())
  t.notOk(await box('orders:read').isChecked(), 'the other ticks stay')
})

const MAX_PRESSES = 60

/** Presses Tab until the control with this text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; presses < MAX_PRESSES; presses += 1) {
    await page.keyboard.press('Tab')
    if ((await focused(page)).startsWith(text)) return
  }
  throw new Error(`Tab does not reach "${text}"`)
}

/** Returns the text of the focused control. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>(
    '(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()',
  )
}

/** Presses a key, and waits for the next page. */
async function follow(page: Page, key: 'Enter' | 'Space'): Promise<void> {
  await Promise.all([page.waitForEvent('domcontentloaded'), page.keyboard.press(key)])
}
