import { hash } from 'node:crypto'
import t from 'tap'
import { pageHeaders } from '../../../authorization-server/pages/page-reply.ts'
import { PAGE_STYLE } from '../../../authorization-server/pages/page-style.ts'
import { DEFAULT_LOOK, renderPage } from '../../../authorization-server/pages/render-page.ts'
import { html } from '../../../platform/pages/html.ts'

/** Text colors, and the possible backgrounds of each text color. */
const PAIRS: Readonly<Record<string, readonly string[]>> = {
  text: ['card', 'ground'],
  quiet: ['card', 'ground'],
  accent: ['card'],
  'accent-over': ['card'],
  'notice-text': ['notice'],
  'wrong-text': ['wrong'],
  'on-accent': ['accent', 'accent-over'],
}

t.test('text has a contrast of at least 4.5:1 in both color schemes (WCAG 2.2 section 1.4.3)', async (t) => {
  const [light = '', dark = ''] = PAGE_STYLE.split('@media (prefers-color-scheme: dark)')
  for (const [scheme, style] of Object.entries({ light, dark })) {
    const colour = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(style)?.[1] ?? ''
    for (const [text, grounds] of Object.entries(PAIRS))
      for (const ground of grounds) {
        const ratio = contrast(colour(text), colour(ground))
        t.ok(ratio >= 4.5, `${scheme}: ${text} on ${ground} ${ratio.toFixed(2)}:1`)
      }
  }
})

t.test('the Content Security Policy contains the hash of the embedded stylesheet', async (t) => {
  const markup = renderPage({
    title: 'T',
    serviceName: 'S',
    body: html``,
    locale: 'en',
    requestId: undefined,
  })
  const [, embedded = ''] = /<style>([\s\S]*?)<\/style>/.exec(markup) ?? []
  t.equal(`'sha256-${hash('sha256', embedded, 'base64')}'`, DEFAULT_LOOK.styleSource)
  t.match(pageHeaders([], 'en')['content-security-policy'], `style-src ${DEFAULT_LOOK.styleSource};`)
})

// Before you change this hash, look at every page in both color schemes.
t.test('the stylesheet has the hash of the reviewed stylesheet', async (t) => {
  t.equal(DEFAULT_LOOK.styleSource, "'sha256-f5TI+wHsFwFbXRrBXkfddhzUISptu1WQgHS4gHxpkWQ='")
})

t.test('pageHeaders() returns every header of a page', async (t) => {
  const policy = `default-src 'none'; style-src ${DEFAULT_LOOK.styleSource}; frame-ancestors 'none'; base-uri 'none'`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-language': 'en',
    vary: 'accept-language',
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  }
  t.strictSame(pageHeaders(undefined, 'en'), headers)
  t.equal(pageHeaders([], 'en')['content-security-policy'], `${policy}; form-action 'none'`)
  t.equal(
    pageHeaders(["'self'", 'https://app.example'], 'en')['content-security-policy'],
    `${policy}; form-action 'self' https://app.example`,
  )
})

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

/** WCAG 2.2 defines the relative luminance of a color. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
