import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { diagnostic, type SourceLocation, wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'

const at = (text: string, column: number, length: number, line = 10): SourceLocation => ({
  file: 'a.yaml',
  line,
  column,
  length,
  text,
})

t.test(
  'formatDiagnostics() escapes control characters of a file before they reach the terminal',
  async (t) => {
    const text = 'owner: \u001b]0;pwned\u0007 \u202eevil\u009b31m'
    const shown = formatDiagnostics([diagnostic('P004', `bad ${text}`, at(text, 8, 1), { hint: text })])
    t.notMatch(shown.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u)
    t.match(shown, /\\u\{1b\}/)
  },
)

t.test('formatDiagnostics() hides user names and passwords in URLs', async (t) => {
  const text = 'redis: { url: redis://user:hunter2@db:x }'
  const shown = formatDiagnostics([
    diagnostic('C105', `"redis://user:hunter2@db:x" is wrong`, at(text, 40, 1)),
  ])
  t.notMatch(shown, /hunter2|user:/)
  t.match(shown, /redis:\/\/\*{12}@db:x/)
})

t.test('formatDiagnostics() uses the layout of rustc', async (t) => {
  const one = diagnostic('P101', 'unknown key "timout"', at('  timout: 5s', 3, 6), {
    hint: 'did you mean "timeout"?',
  })
  const two = diagnostic('P301', 'both claim GET /x', at('  path: /x', 9, 2), {
    related: [{ message: 'a/one matches it here', location: { ...at('path: /x', 7, 2, 7), file: 'b.yaml' } }],
  })
  t.equal(
    formatDiagnostics([one, two, diagnostic('C002', 'the file is empty', wholeFile('c.yaml'))]),
    `error[P101]: unknown key "timout"
   --> a.yaml:10:3
   |
10 |   timout: 5s
   |   ^^^^^^ did you mean "timeout"?

error[P301]: both claim GET /x
   --> a.yaml:10:9
   |
10 |   path: /x
   |         ^^
  ::: b.yaml:7:7
  |
7 | path: /x
  |       -- a/one matches it here

error[C002]: the file is empty
 --> c.yaml`,
  )
})

t.test('formatDiagnostics() aligns the caret under wide characters and tabs', async (t) => {
  for (const [text, column] of [
    ['名: x', 4],
    ['😀: x', 4],
    ['a:\tx', 4],
    ['e\u0301: x', 5],
  ] as const) {
    const [, , , line = '', caret = ''] = formatDiagnostics([
      diagnostic('P1', 'm', at(text, column, 1)),
    ]).split('\n')
    const width = [...line.slice(5, line.indexOf('x'))].reduce(
      (sum, one) => sum + (/[名😀]/u.test(one) ? 2 : one === '\u0301' ? 0 : 1),
      0,
    )
    t.equal(caret.indexOf('^') - 5, width, text)
  }
})

t.test('formatDiagnostics() truncates a long line around the caret', async (t) => {
  const shown = formatDiagnostics([
    diagnostic('P1', 'm', at(`${'a'.repeat(5_000)}!${'b'.repeat(5_000)}`, 5_001, 1)),
  ])
  const [, , , line = '', caret = ''] = shown.split('\n')
  t.ok(line.length < 140)
  t.equal(line.charAt(caret.indexOf('^')), '!')
})

t.test('formatDiagnostics() changes only the appearance when it adds color', async (t) => {
  const all = (['error', 'warning', 'note'] as const).map((severity) =>
    diagnostic('P1', 'm', at('abc', 2, 1), { severity }),
  )
  const coloured = formatDiagnostics(all, { colour: true })
  t.not(coloured, formatDiagnostics(all))
  t.equal(stripVTControlCharacters(coloured), formatDiagnostics(all))
})

const shownLines = (text: string, column: number, length: number, hint?: string): readonly string[] =>
  formatDiagnostics([diagnostic('P1', 'm', at(text, column, length), { hint })])
    .split('\n')
    .slice(3)

t.test(
  'formatDiagnostics() shows 120 characters of a longer line, 40 of them before the caret',
  async (t) => {
    const a = (count: number): string => 'a'.repeat(count)
    t.strictSame(shownLines(`!${a(119)}`, 1, 1), [`10 | !${a(119)}`, '   | ^'])
    t.strictSame(shownLines(`!${a(120)}`, 1, 1), [`10 | !${a(119)}…`, '   | ^'])
    t.strictSame(shownLines(`${a(40)}!${a(80)}`, 41, 1), [
      `10 | ${a(40)}!${a(79)}…`,
      `   | ${' '.repeat(40)}^`,
    ])
    t.strictSame(shownLines(`${a(41)}!${a(80)}`, 42, 1), [
      `10 | …${a(40)}!${a(79)}…`,
      `   | ${' '.repeat(41)}^`,
    ])
    t.strictSame(shownLines(`${a(200)}!${a(200)}`, 201, 1), [
      `10 | …${a(40)}!${a(79)}…`,
      `   | ${' '.repeat(41)}^`,
    ])
    t.strictSame(shownLines(`${a(120)}!`, 121, 1), [`10 | …${a(119)}!`, `   | ${' '.repeat(120)}^`])
    t.strictSame(shownLines(`${a(200)}!${a(79)}`, 201, 1), [
      `10 | …${a(40)}!${a(79)}`,
      `   | ${' '.repeat(41)}^`,
    ])
  },
)

t.test('formatDiagnostics() counts terminal columns', async (t) => {
  for (const [text, column, length, line, caret] of [
    ['名: x', 1, 1, '名: x', '^^'],
    ['😀 x', 3, 1, '😀 x', '   ^'],
    ['e\u0301 x', 1, 2, 'e\u0301 x', '^'],
    ['\u0301', 1, 1, '\u0301', '^'],
    ['\u1100\u115f x', 4, 1, '\u1100\u115f x', '     ^'],
    ['\u10ff\u1160 x', 4, 1, '\u10ff\u1160 x', '   ^'],
    ['\u2e80\ua4cf x', 4, 1, '\u2e80\ua4cf x', '     ^'],
    ['\u2e7f\ua4d0 x', 4, 1, '\u2e7f\ua4d0 x', '   ^'],
    ['\uac00\ud7a3 x', 4, 1, '\uac00\ud7a3 x', '     ^'],
    ['\uf900\ufaff x', 4, 1, '\uf900\ufaff x', '     ^'],
    ['\ufe30\ufe6f x', 4, 1, '\ufe30\ufe6f x', '     ^'],
    ['\uff00\uff60 x', 4, 1, '\uff00\uff60 x', '     ^'],
    ['\uffe0\uffe6 x', 4, 1, '\uffe0\uffe6 x', '     ^'],
    ['\uffe7\uff61 x', 4, 1, '\uffe7\uff61 x', '   ^'],
    ['\ta', 2, 1, '  a', '  ^'],
    ['a\tb', 2, 1, 'a  b', ' ^^'],
    ['a  ', 1, 1, 'a', '^'],
    ['', 1, 1, '', '^'],
    ['ab', 1, 9, 'ab', '^^'],
  ] as const)
    t.strictSame(shownLines(text, column, length), [`10 | ${line}`, `   | ${caret}`], JSON.stringify(text))
})

t.test('formatDiagnostics() shows a hint without a source line, and a line without a column', async (t) => {
  const whole = wholeFile('config/a.yaml')
  t.equal(
    formatDiagnostics([
      diagnostic('C001', 'the file is missing', whole, { severity: 'warning', hint: 'create it' }),
      diagnostic('C001', 'm', { ...whole, line: 7 }, { severity: 'note' }),
      diagnostic(
        'C001',
        'm',
        { ...whole, line: 12, text: 'a: b' },
        {
          related: [{ message: 'the first definition', location: { ...whole, line: 3, column: 2 } }],
        },
      ),
    ]),
    `warning[C001]: the file is missing
 --> config/a.yaml
 = create it

note[C001]: m
  --> config/a.yaml:7:1

error[C001]: m
   --> config/a.yaml:12:1
   |
12 | a: b
   | ^
  ::: config/a.yaml:3:2
  = the first definition`,
  )
})

t.test('formatDiagnostics() escapes and masks each part', async (t) => {
  const location = { ...at('u: http://me:pw@h, //a@b@c x://y', 4, 4), file: 'a\u001b.yaml' }
  const related = [{ message: 'see\u001b', location: { ...wholeFile('b\u001b'), line: 1 } }]
  t.equal(
    formatDiagnostics([diagnostic('P1', 'bad\u001b\tredis://a@h', location, { hint: 'not\u001b', related })]),
    `error[P1]: bad\\u{1b}  redis://*@h
   --> a\\u{1b}.yaml:10:4
   |
10 | u: http://*****@h, //*@b@c x://y
   |    ^^^^ not\\u{1b}
  ::: b\\u{1b}:1:1
  = see\\u{1b}`,
  )
})

t.test('formatDiagnostics() colors the severity, the message, the caret and related carets', async (t) => {
  const related = [{ message: 'r', location: at('x', 1, 1, 1) }]
  const coloured = (severity: 'error' | 'warning' | 'note') =>
    formatDiagnostics([diagnostic('P1', 'm', at('abc', 2, 1), { severity, hint: 'h', related })], {
      colour: true,
    })
  for (const [severity, code] of [
    ['error', 31],
    ['warning', 33],
    ['note', 36],
  ] as const)
    t.equal(
      coloured(severity),
      `\u001b[${code}m${severity}[P1]\u001b[39m\u001b[1m: m\u001b[22m
   --> a.yaml:10:2
   |
10 | abc
   |  \u001b[${code}m^ h\u001b[39m
  ::: a.yaml:1:1
  |
1 | x
  | \u001b[34m- r\u001b[39m`,
    )
})
