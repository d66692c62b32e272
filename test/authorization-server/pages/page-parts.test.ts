import t from 'tap'
import { readRedirectTarget } from '../../../authorization-server/consent/consent-page.ts'
import { createFormTokens, isSameOrigin } from '../../../authorization-server/pages/forms.ts'
import { INTERACTION_LIMITS } from '../../../authorization-server/pages/interaction-limits.ts'
import { renderErrorPage } from '../../../authorization-server/pages/render-error-page.ts'
import { displayText, Html, html } from '../../../platform/pages/html.ts'
import { readForm } from '../../../platform/pages/read-form.ts'

t.test('html`` escapes every value except nested markup', async (t) => {
  t.equal(
    String(html`<a title="${`"'<&>\``}">${'<b>'}</a>`),
    '<a title="&#34;&#39;&#60;&#38;&#62;&#96;">&#60;b&#62;</a>',
  )
  t.equal(String(html`${[html`<i>1</i>`, '<2>']}${undefined}${false}${0}`), '<i>1</i>&#60;2&#62;0')
  t.throws(() => Reflect.construct(Html, ['<b>', Symbol('html')]), TypeError)
})

t.test(
  'displayText() removes invisible and bidirectional control characters, and truncates to 100 characters',
  async (t) => {
    t.equal(displayText(`a\u202e\u2066b\u200bc\u0007${String.fromCharCode(0xd800)}\u{e0041}d`), 'abcd')
    t.equal(displayText('  two\n\tlines\u2028 here '), 'two lines here')
    t.equal(displayText(`Z${'\u0301'.repeat(500)}algo`), 'Z\u0301\u0301algo')
    t.equal([...(displayText('\u{1f600}'.repeat(200)) ?? '')].length, 100)
    t.equal(displayText('x'.repeat(100)), 'x'.repeat(100))
    for (const text of [undefined, '', ' \n', '\u3164\u115f\u034f\ufeff'])
      t.equal(displayText(text), undefined)
    t.equal(displayText('الكورسات'), 'الكورسات')
  },
)

t.test('displayText() removes each kind of invisible character', async (t) => {
  for (const [kind, character] of Object.entries({
    'a control character': '\u0001',
    'a second control character': '\u009f',
    'a format character': '\u200e',
    'an annotation anchor': '\ufff9',
    'a soft hyphen': '\u00ad',
    'private use': '\ue000',
    'an unpaired surrogate': String.fromCharCode(0xdc00),
    'a variation selector': '\ufe0f',
    'a tag': '\u{e0020}',
    'a Hangul filler': '\uffa0',
  }))
    t.equal(displayText(`a${character}b${character}c`), 'abc', kind)
  t.equal(displayText('a\u2028b\u2029c'), 'a b c', 'separators count as white space')
})

t.test('displayText() keeps two combining marks per letter and 100 characters', async (t) => {
  t.equal(
    displayText('e\u0301\u0302 o\u0301\u0302\u0303\u0304u\u0301\u0302\u0303'),
    'e\u0301\u0302 o\u0301\u0302u\u0301\u0302',
  )
  t.equal(displayText('x'.repeat(101)), `${'x'.repeat(99)}…`)
  t.equal(displayText('\u{1f600}'.repeat(100)), '\u{1f600}'.repeat(100))
  t.equal(displayText(`${' '.repeat(799)}xy`), 'x', 'reads 800 code units')
})

t.test('readForm() reads a valid form and rejects a malformed one', async (t) => {
  t.strictSame(
    [...(readForm('a=1+2%2B&b=%C3%BC&c=') ?? [])],
    [
      ['a', '1 2+'],
      ['b', '\u00fc'],
      ['c', ''],
    ],
  )
  t.equal(readForm('')?.size, 0)
  for (const body of ['a', '&', 'a=1&', '=1', 'a=1&a=2', 'a=1=2', 'a=%zz', 'a=%C3', 'a=%00', 'a=1&%61=2'])
    t.equal(readForm(body), undefined, body)
})

t.test('readForm() reads at most 300 fields', async (t) => {
  const fields = (count: number) => Array.from({ length: count }, (_, index) => `f${index}=`).join('&')
  t.equal(readForm(fields(300))?.size, 300)
  t.equal(readForm(fields(301)), undefined)
})

t.test('INTERACTION_LIMITS are the limits of the pages', async (t) => {
  t.strictSame(INTERACTION_LIMITS, {
    bodyLimitBytes: 16_384,
    signIn: { failuresPerAccount: 10, failuresPerAddress: 100, windowMs: 300_000 },
    passwordHashes: { maxConcurrent: 2, maxQueue: 32 },
  })
})

t.test('readRedirectTarget() returns host and port, and identifies apps on this device', async (t) => {
  const cases = [
    ['http://127.0.0.1:51234/cb', '127.0.0.1:51234', true, 'http://127.0.0.1:51234'],
    ['http://[::1]:51234/cb', '[::1]:51234', true, undefined],
    ['http://localhost/cb', 'localhost', true, 'http://localhost'],
    ['https://app.example/cb', 'app.example', false, 'https://app.example'],
    ['https://127.0.0.1.evil.example/', '127.0.0.1.evil.example', false, 'https://127.0.0.1.evil.example'],
    ['https://user:pw@evil.example/', 'evil.example', false, 'https://evil.example'],
    ['https://b\u00fccher.example/', 'xn--bcher-kva.example', false, 'https://xn--bcher-kva.example'],
    ['com.example.app:/cb', 'com.example.app', true, 'com.example.app:'],
    ['nonsense', undefined, false, undefined],
  ] as const
  for (const [uri, shown, onThisDevice, policySource] of cases)
    t.strictSame(readRedirectTarget(uri), { shown, onThisDevice, policySource }, uri)
})

t.test('form tokens: accepts a token of an older key and rejects a token of an unknown key', async (t) => {
  const cookie = 'c'.repeat(43)
  const secureCookies = false
  const token = createFormTokens({ cookieKeys: () => ['old'], secureCookies }).issue('uid', cookie)
  const verify = (keys: readonly string[], uid = 'uid', value = token) =>
    createFormTokens({ cookieKeys: () => keys, secureCookies }).verify({
      uid,
      cookieHeader: `a=b; scopegate-form=${cookie}; c=d`,
      token: value,
    })
  t.equal(verify(['new', 'old']), true)
  t.equal(verify(['new']), false)
  t.equal(verify(['old'], 'other'), false)
  t.equal(verify(['old'], 'uid', `${token}A`), false)
  t.throws(() => createFormTokens({ cookieKeys: () => [], secureCookies }), {
    name: 'TypeError',
    message: 'at least one cookie key is required',
  })
})

t.test('form tokens: the first key signs interaction and cookie', async (t) => {
  const tokens = createFormTokens({ cookieKeys: () => ['key', 'old'], secureCookies: false })
  t.equal(tokens.issue('uid', 'c'.repeat(43)), '9jqd1r1q4eEeaEyoeiHxF5AyrKxznJZyOXd_uvT9H8w')
})

t.test('form tokens: readCookie() keeps a valid cookie and replaces any other cookie', async (t) => {
  const value = 'aZ09_-'.padEnd(43, 'c')
  for (const [secureCookies, name, attributes] of [
    [false, 'scopegate-form', 'Path=/oauth; HttpOnly; SameSite=Lax'],
    [true, '__Host-scopegate-form', 'Path=/; Secure; HttpOnly; SameSite=Lax'],
  ] as const) {
    const tokens = createFormTokens({ cookieKeys: () => ['key'], secureCookies })
    for (const header of [`${name}=${value}`, `a=b;${name}=${value}; c`, `x${name}=1; ${name}=${value}=more`])
      t.strictSame(tokens.readCookie(header), { value, setCookie: undefined }, header)
    for (const header of [
      undefined,
      name,
      `${name}=`,
      `${name}=${value}c`,
      `${name}=${value.slice(1)}`,
      `${name}=${value.slice(1)}+`,
      `${name}=${value}; ${name}=${value}`,
    ]) {
      const fresh = tokens.readCookie(header)
      t.not(fresh.value, value, header ?? 'none')
      t.match(fresh.value, /^[\w-]{43}$/)
      t.equal(fresh.setCookie, `${name}=${fresh.value}; ${attributes}`)
    }
  }
})

t.test(
  'form tokens: verify() rejects an absent cookie, an absent token and a token of another length',
  async (t) => {
    const tokens = createFormTokens({ cookieKeys: () => ['key'], secureCookies: false })
    const cookie = 'c'.repeat(43)
    const valid = { uid: 'uid', cookieHeader: `scopegate-form=${cookie}`, token: tokens.issue('uid', cookie) }
    t.equal(tokens.verify(valid), true)
    for (const change of [
      { cookieHeader: undefined },
      { cookieHeader: `scopegate-form=${'d'.repeat(43)}` },
      { token: undefined },
      { token: '' },
      { token: valid.token.slice(0, 40) },
    ])
      t.equal(tokens.verify({ ...valid, ...change }), false, JSON.stringify(change))
  },
)

t.test('isSameOrigin() uses the headers of the browser, and accepts a request without them', async (t) => {
  const own = 'https://login.example'
  for (const headers of [
    {},
    { origin: own },
    { origin: 'null', 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'same-origin' },
  ])
    t.equal(isSameOrigin(headers, own), true, JSON.stringify(headers))
  for (const headers of [
    { origin: 'https://login.example.evil.example' },
    { origin: own, 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
  ])
    t.equal(isSameOrigin(headers, own), false, JSON.stringify(headers))
})

t.test('form tokens: each browser gets its own cookie', async (t) => {
  const tokens = createFormTokens({ cookieKeys: () => ['key'], secureCookies: false })
  const values = Array.from({ length: 10 }, () => tokens.readCookie(undefined).value)
  t.equal(new Set(values).size, values.length)
  for (const value of values) t.match(value, /^[\w-]{43}$/)
})

t.test('an error page closes every element, and has its footer after main', async (t) => {
  const page = {
    serviceName: 'S',
    locale: 'en',
    requestId: 'id',
    error: 'server_error',
    description: 'details',
  } as const
  const markup = renderErrorPage(page).replace(/<style>[^<]*/, '<style>')
  const open: string[] = []
  for (const [, slash, name = ''] of markup.matchAll(/<(\/?)([a-z][a-z0-9]*)/g))
    if (name === 'meta') continue
    else if (slash === '') open.push(name)
    else t.equal(open.pop(), name)
  t.strictSame(open, [])
  t.match(markup, /<\/main>\s*<footer>Request id<\/footer>\s*<\/body>/)
})

t.test(
  'renderErrorPage() escapes all values and shows the default heading for an unknown error code',
  async (t) => {
    const options = { serviceName: '<S>', locale: 'en', requestId: '<id>' } as const
    const markup = renderErrorPage({ ...options, error: '<svg>', description: '<script>\u202e' })
    t.notMatch(markup, /<svg|<script|<S>|<id>|\u202e/)
    t.match(markup, /<h1>The app sent an invalid request<\/h1>/)
    t.match(renderErrorPage({ ...options, error: 'server_error', description: '' }), /on our side/)
    t.notMatch(renderErrorPage({ ...options, error: 'server_error', description: '' }), /<details>/)
    t.match(renderErrorPage({ ...options, error: 'constructor', description: '' }), /an invalid request/)
  },
)
