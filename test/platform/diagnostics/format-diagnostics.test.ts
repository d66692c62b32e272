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
    related: [{ message: 'a/one claims it here', place: { ...at('path: /x', 7, 2, 7), file: 'b.yaml' } }],
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
  |       -- a/one claims it here

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
