import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { launchChromium } from '../../fixtures/launch-chromium.ts'
import { listenAsLoopbackClient } from '../../fixtures/loopback-client.ts'
import { makePkce, registerClient } from '../../fixtures/register-client.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const dir = t.testdir()
const logo = join(dir, 'logo.svg')
const css = join(dir, 'pages.css')
writeFileSync(
  logo,
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30"><rect width="90" height="30" fill="#006040"/></svg>',
)
writeFileSync(css, 'h1 { letter-spacing: 3px; }\n')
const server = await startServer(t, {
  look: {
    logo,
    css,
    colors: {
      light: { accent: '#006040', background: '#fffdf5', text: '#20201c' },
      dark: { accent: '#7fe0b0', background: '#101a16', text: '#f2f5ee' },
    },
    links: {
      help: 'https://example.com/help',
      terms: 'https://example.com/terms',
      privacy: 'https://example.com/privacy',
    },
  },
})
const chrome = await launchChromium(t)

const TEXTS = {
  en: {
    username: 'User name',
    password: 'Password',
    submit: 'Sign in',
    allow: 'Allow',
    links: 'Help Terms Privacy',
  },
  de: {
    username: 'Benutzername',
    password: 'Passwort',
    submit: 'Anmelden',
    allow: 'Erlauben',
    links: 'Hilfe Nutzungsbedingungen Datenschutz',
  },
} as const
const SCHEMES = {
  light: { background: 'rgb(255, 253, 245)', text: 'rgb(32, 32, 28)', button: 'rgb(0, 96, 64)' },
  dark: { background: 'rgb(16, 26, 22)', text: 'rgb(242, 245, 238)', button: 'rgb(127, 224, 176)' },
} as const

for (const locale of ['en', 'de'] as const)
  for (const colorScheme of ['light', 'dark'] as const)
    t.test(`all pages in ${locale}, in the ${colorScheme} scheme, by keyboard`, async (t) => {
      const context = await chrome.newContext({ javaScriptEnabled: false, colorScheme, locale })
      t.teardown(() => context.close())
      const page = await context.newPage()
      const messages: string[] = []
      page.on('console', (line) => messages.push(line.text()))
      const app = await listenAsLoopbackClient(t)
      const client = await registerClient(server, {
        client_name: 'Planner',
        redirect_uris: [app.redirectUri],
      })
      const texts = TEXTS[locale]
      const check = async (name: string): Promise<void> => {
        for (const width of [320, 1280]) {
          await page.setViewportSize({ width, height: 800 })
          t.ok(
            (await evaluate<number>(page, 'document.documentElement.scrollWidth')) <= width,
            `${name} fits ${width}`,
          )
        }
        t.equal(await page.locator('html').getAttribute('lang'), locale, name)
        t.equal(await page.locator('h1').count(), 1, name)
        t.equal(
          await evaluate<boolean>(page, 'document.querySelector(".service img").naturalWidth > 0'),
          true,
          name,
        )
        t.equal((await page.locator('footer p').textContent())?.trim(), texts.links, name)
        const style = (selector: string, property: string) =>
          evaluate(page, `getComputedStyle(document.querySelector('${selector}')).${property}`)
        const { background, text } = SCHEMES[colorScheme]
        t.equal(await style('main', 'backgroundColor'), background, name)
        t.equal(await style('h1', 'color'), text, name)
        t.equal(await style('h1', 'letterSpacing'), '3px', `${name}: the CSS of the operator applies`)
      }
      const { verifier, challenge } = makePkce()
      await page.goto(client.authorizeUrl('openid courses:read courses:write', challenge).href)
      await check('sign-in')
      await page.keyboard.type('alice')
      await page.keyboard.press('Tab')
      await page.keyboard.type('wrong')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
      await check('wrong password')
      t.equal(await page.getByLabel(texts.username).inputValue(), 'alice')
      await page.keyboard.type('alice') // the password field has the focus
      await page.keyboard.press('Enter')
      const allow = page.getByRole('button', { name: texts.allow })
      await allow.waitFor()
      await check('consent')
      t.equal(
        await evaluate(page, 'getComputedStyle(document.querySelector(".actions button")).backgroundColor'),
        SCHEMES[colorScheme].button,
      )
      const arrives = app.nextCallback()
      await allow.focus()
      await page.keyboard.press('Enter')
      const code = (await arrives).searchParams.get('code') ?? ''
      await page.getByRole('heading', { name: 'You can close this window.' }).waitFor()
      server.secret(code)
      const tokens = client.readTokens(await client.exchange({ code, verifier }))
      t.ok(tokens.accessToken)
      await page.goto(client.authorizeUrl('openid', challenge, { client_id: 'unknown' }).href)
      await check('error')
      t.strictSame(
        messages.filter((text) => !/the server responded with a status of 400/.test(text)),
        [],
      )
    })

t.test('ui_locales of the request selects the language, not the browser', async (t) => {
  const context = await chrome.newContext({ locale: 'en' })
  t.teardown(() => context.close())
  const page = await context.newPage()
  const client = await registerClient(server)
  const { challenge } = makePkce()
  await page.goto(client.authorizeUrl('openid', challenge, { ui_locales: 'fr de' }).href)
  await page.getByRole('button', { name: 'Anmelden' }).waitFor()
  await page.goto(client.authorizeUrl('openid', challenge, { ui_locales: 'de', client_id: 'unknown' }).href)
  await page.getByRole('heading', { name: 'Die App hat eine ungültige Anfrage gesendet' }).waitFor()
})

function evaluate<Value = string>(page: Page, expression: string) {
  return page.evaluate<Value>(expression)
}
