import t from 'tap'
import { html } from '../../../platform/pages/html.ts'

t.test('html`` shows bidirectional control characters as text, and keeps other characters', async (t) => {
  for (const code of [0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069]) {
    const character = String.fromCodePoint(code)
    const shown = `\\u{${code.toString(16)}}`
    t.equal(String(html`<p title="${character}">a${character}b</p>`), `<p title="${shown}">a${shown}b</p>`)
  }
  for (const text of ['שלום عربي', '\u200e\u200f', 'a\n\tb', 'é\u0301 👩‍💻'])
    t.equal(String(html`${text}`), text)
})
