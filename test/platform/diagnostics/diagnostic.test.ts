import { join, sep } from 'node:path'
import t from 'tap'
import { BootError, ConfigError } from '../../../platform/diagnostics/boot-error.ts'
import { capPerCode, collectProblems } from '../../../platform/diagnostics/collect-problems.ts'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  type Severity,
  sortDiagnostics,
  wholeFile,
} from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'

const WHOLE = { file: 'a.yaml', line: undefined, column: undefined, length: 1, text: undefined }

t.test('diagnostic() is an error without a hint by default', async (t) => {
  t.strictSame(diagnostic('C001', 'm', wholeFile('a.yaml')), {
    code: 'C001',
    severity: 'error',
    message: 'm',
    location: WHOLE,
    hint: undefined,
    related: [],
  })
  const related = [{ message: 'here', location: wholeFile('b.yaml') }]
  t.strictSame(diagnostic('C001', 'm', wholeFile('a.yaml'), { severity: 'note', hint: 'h', related }), {
    code: 'C001',
    severity: 'note',
    message: 'm',
    location: WHOLE,
    hint: 'h',
    related: [{ message: 'here', location: { ...WHOLE, file: 'b.yaml' } }],
  })
})

t.test('hasErrors() ignores warnings and notes', async (t) => {
  const all = (...severities: Severity[]): Diagnostic[] =>
    severities.map((severity) => diagnostic('C001', 'm', wholeFile('a'), { severity }))
  t.equal(hasErrors([]), false)
  t.equal(hasErrors(all('warning', 'note')), false)
  t.equal(hasErrors(all('warning', 'error', 'note')), true)
})

t.test('sortDiagnostics() sorts by file, line, column and code, and puts whole files first', async (t) => {
  const keys = [
    ['a.yaml', undefined, undefined, 'C999'],
    ['a.yaml', 1, undefined, 'C009'],
    ['a.yaml', 1, 1, 'C000'],
    ['a.yaml', 1, 2, 'C001'],
    ['a.yaml', 1, 2, 'C002'],
    ['a.yaml', 1, 10, 'C000'],
    ['a.yaml', 2, 1, 'C000'],
    ['a.yaml', 10, 1, 'C000'],
    ['b.yaml', undefined, undefined, 'C000'],
    ['b.yaml', 1, 1, 'C000'],
  ] as const
  const all = keys.map(([file, line, column, code]) =>
    diagnostic(code, 'm', { ...wholeFile(file), line, column }),
  )
  const keysOf = (sorted: readonly Diagnostic[]) =>
    sorted.map(({ code, location }) => [location.file, location.line, location.column, code])
  t.strictSame(keysOf(sortDiagnostics(all.toReversed())), keys)
  t.strictSame(keysOf(sortDiagnostics([...all.slice(5), ...all.slice(0, 5)])), keys)
  const equal = ['one', 'two'].map((message) => diagnostic('C001', message, wholeFile('a')))
  t.strictSame(
    sortDiagnostics(equal).map(({ message }) => message),
    ['one', 'two'],
  )
})

t.test('capPerCode() keeps 50 diagnostics of each code and file, and counts the others', async (t) => {
  const many = (count: number, code: string, file: string): Diagnostic[] =>
    Array.from({ length: count }, (_, line) =>
      diagnostic(code, 'm', { ...wholeFile(file), line: line + 1 }, { severity: 'warning' }),
    )
  for (const count of [0, 1, 50, 51]) t.strictSame(capPerCode(many(count, 'C1', 'a')), many(count, 'C1', 'a'))
  const mixed = Array.from({ length: 25 }, () => [...many(1, 'C1', 'a'), ...many(1, 'C2', 'a')]).flat()
  t.strictSame(capPerCode(mixed), mixed, 'up to 50 diagnostics keep their order')
  t.equal(capPerCode([...many(40, 'C1', '1a'), ...many(40, 'C11', 'a')]).length, 80)
  const capped = capPerCode(many(52, 'C1', 'a'))
  t.equal(capped.length, 51)
  t.strictSame(
    capped.slice(0, 50).map(({ location }) => location.line),
    Array.from({ length: 50 }, (_, line) => line + 1),
  )
  t.strictSame(capped[50], {
    code: 'C1',
    severity: 'warning',
    message: 'this file has 2 more problems with this code',
    location: { ...WHOLE, file: 'a' },
    hint: undefined,
    related: [],
  })
  t.equal(capPerCode([...many(40, 'C1', 'a'), ...many(40, 'C1', 'b'), ...many(40, 'C2', 'a')]).length, 120)
  t.match(capPerCode([...many(100, 'C1', 'a'), ...many(1, 'C2', 'a')]).slice(50), [
    { code: 'C1', message: 'this file has 50 more problems with this code' },
    { code: 'C2', message: 'm' },
  ])
})

t.test('collectProblems() records the diagnostics of a ConfigError and rethrows other errors', async (t) => {
  const problems = collectProblems()
  t.equal(
    problems.attempt(() => 'value'),
    'value',
  )
  const two = ['C001', 'C002'].map((code) => diagnostic(code, 'm', wholeFile('a')))
  t.equal(
    problems.attempt(() => {
      throw new ConfigError(two)
    }),
    undefined,
  )
  t.throws(
    () =>
      problems.attempt(() => {
        throw new BootError('ERR_OTHER', 'other')
      }),
    { code: 'ERR_OTHER' },
  )
  t.strictSame(problems.found, two)
})

t.test('BootError carries a code, an exit code and a cause', async (t) => {
  const plain = new BootError('ERR_X', 'a message')
  t.strictSame(
    [plain.name, plain.code, plain.message, plain.exitCode, Object.hasOwn(plain, 'cause')],
    ['BootError', 'ERR_X', 'a message', 1, false],
  )
  const cause = new Error('cause')
  const more = new BootError('ERR_X', 'a message', { cause, exitCode: 2 })
  t.equal(more.cause, cause)
  t.equal(more.exitCode, 2)
})

t.test('ConfigError lists its diagnostics', async (t) => {
  const diagnostics = [diagnostic('C001', 'm', wholeFile('a')), diagnostic('C002', 'n', wholeFile('b'))]
  const error = new ConfigError(diagnostics)
  t.equal(error.diagnostics, diagnostics)
  t.strictSame(
    [error.name, error.code, error.message, error.exitCode],
    ['ConfigError', 'ERR_CONFIG_INVALID', 'error[C001]: m\n --> a\n\nerror[C002]: n\n --> b', 3],
  )
})

t.test('displayPath() is relative below the working folder, else absolute', async (t) => {
  for (const [file, shown] of [
    ['/srv/shop/a.yaml', 'a.yaml'],
    ['/srv/shop/config/a.yaml', 'config/a.yaml'],
    ['/srv/shop/..a/b.yaml', '..a/b.yaml'],
    ['/srv/shop', '/srv/shop'],
    ['/srv', '/srv'],
    ['/srv/other/a.yaml', '/srv/other/a.yaml'],
  ] as const)
    t.equal(displayPath(file, '/srv/shop'), shown, file)
  t.equal(displayPath(join(process.cwd(), `x${sep}y`)), 'x/y')
})

t.test('visibleText() escapes control, format and bidirectional characters', async (t) => {
  for (const [text, shown] of [
    ['plain é 名 😀', 'plain é 名 😀'],
    ['a\tb\nc\rd', 'a\\u{9}b\\u{a}c\\u{d}d'],
    ['\u0000\u001b\u007f\u009f', '\\u{0}\\u{1b}\\u{7f}\\u{9f}'],
    ['\u200b\u202e\u2066\ufeff\u00ad', '\\u{200b}\\u{202e}\\u{2066}\\u{feff}\\u{ad}'],
    ['\u2028\u2029', '\\u{2028}\\u{2029}'],
    ['\u{e0001}', '\\u{e0001}'],
    ['\ud800x\udfff', '\\u{fffd}x\\u{fffd}'],
  ] as const)
    t.equal(visibleText(text), shown)
})
