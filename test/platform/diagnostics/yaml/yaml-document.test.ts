import fc from 'fast-check'
import t from 'tap'
import { formatDiagnostics } from '../../../../platform/diagnostics/format-diagnostics.ts'
import { parseYaml, parseYamlSliced } from '../../../../platform/diagnostics/yaml/yaml-document.ts'

const parse = (text: string) => parseYaml(text, { shownAs: 'a.yaml', letter: 'P' })

t.test('parseYaml() never throws, and each problem names an existing line', async (t) => {
  const words = fc.constantFrom(
    'a',
    'name',
    ':',
    ': ',
    '-',
    '- ',
    '\n',
    '\n  ',
    '\n    ',
    '\t',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '#',
    '&a',
    '*a',
    '!t ',
    '|',
    '>',
    '?',
    '<<',
    '---',
    '...',
    '%',
    '@',
    '\r\n',
    '\\',
    '😀',
    '\0',
    '\r',
    '\ud800',
  )
  fc.assert(
    fc.property(fc.array(words, { maxLength: 30 }), (parts) => {
      const text = parts.join('')
      const { diagnostics, value, locationOf } = parse(text)
      const count = text.split('\n').length
      for (const { location } of [...diagnostics, { location: locationOf(['a', 0]) }]) {
        if (location.line !== undefined && (location.line < 1 || location.line > count))
          throw new Error(`line ${location.line}`)
        if (location.column !== undefined && location.column < 1) throw new Error(`column ${location.column}`)
      }
      if (value === undefined && diagnostics.length === 0) throw new Error('rejected without a word')
      formatDiagnostics(diagnostics)
    }),
    { numRuns: 5_000 },
  )
  t.pass('5,000 texts')
})

t.test('parseYaml() terminates on large hostile texts', async (t) => {
  for (const unit of [
    '[',
    '{a: ',
    '- ',
    'a:\n',
    'a: "',
    '\ta: b\n',
    'a: {b}c}\n',
    '? ',
    '&a ',
    '*a ',
    '!!x ',
    '"\\q" ',
  ]) {
    const { diagnostics } = parse(unit.repeat(100_000 / unit.length))
    t.ok(diagnostics.length > 0, unit)
  }
})

t.test(
  'parseYaml() reads YAML 1.2: yes, no, on, off, octal-like and date-like texts stay strings',
  async (t) => {
    const { value, diagnostics } = parse(
      'a: yes\nb: no\nc: 0o17\nd: 2026-01-01\ne: 1_000\nf: ~\ng: 12:30:00\n',
    )
    t.strictSame(diagnostics, [])
    t.strictSame(
      { ...(value as object) },
      { a: 'yes', b: 'no', c: 15, d: '2026-01-01', e: '1_000', f: null, g: '12:30:00' },
    )
  },
)

t.test('parseYaml() explains the indentation of a line that has no parent key', async (t) => {
  const { diagnostics } = parse('/x:\n    /y: 1\n  /z: 2\n')
  t.equal(diagnostics.length, 1)
  t.match(diagnostics, [{ code: 'P012', location: { line: 3, column: 3 }, hint: /other entries of its map/ }])
})

t.test('parseYaml() returns maps without a prototype', async (t) => {
  const { value } = parse('__proto__: { polluted: 1 }\nconstructor: x\n')
  t.equal(Object.getPrototypeOf(value), null)
  t.strictSame(Object.keys(value as object), ['__proto__', 'constructor'])
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

t.test(
  'locationOf() locates keys, values and list items, and the nearest parent of a missing element',
  async (t) => {
    const { locationOf } = parse('a:\n  - b: { c: "dé" }\n    e:\n  - f\n')
    const at = (path: (string | number)[], part?: 'key' | 'value') => {
      const { line, column, length } = locationOf(path, part)
      return [line, column, length]
    }
    t.strictSame(at([]), [1, 1, 1])
    t.strictSame(at(['a']), [2, 3, 1])
    t.strictSame(at(['a'], 'key'), [1, 1, 1])
    t.strictSame(at(['a', 0]), [2, 5, 1])
    t.strictSame(at(['a', 0, 'b', 'c']), [2, 13, 4])
    t.strictSame(at(['a', 0, 'b', 'c'], 'key'), [2, 10, 1])
    t.strictSame(at(['a', 0, 'b', 'missing']), [2, 8, 11])
    t.strictSame(at(['a', 0, 'e']), [3, 5, 1], 'an empty value is located by its key')
    t.strictSame(at(['a', 1]), [4, 5, 1])
    t.strictSame(at(['a', 9, 'x']), [2, 3, 1])
  },
)

for (const [what, end] of [
  ['good', ''],
  ['broken', 'routes: [\n'],
] as const)
  t.test(`parseYamlSliced() pauses repeatedly within a long text, ${what}`, async (t) => {
    const routes = '  - { name: route, path: "/a/{b}", methods: [GET, POST] }\n'.repeat(1_000)
    const text = `routes:\n${routes}${end}`
    const steps = parseYamlSliced(text, { shownAs: 'a.yaml', letter: 'P' })
    let pauses = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) pauses += 1
    t.ok(pauses > 50, `${pauses} pauses`)
    const whole = parse(text)
    t.equal(JSON.stringify(step.value.value), JSON.stringify(whole.value))
    t.same(formatDiagnostics(step.value.diagnostics), formatDiagnostics(whole.diagnostics))
  })
