import t from 'tap'
import { formatFigures } from '../../bench/format-figures.ts'
import { formatResult } from '../../bench/format-result.ts'

t.test(
  'formatFigures() shows each figure with its unit, and compares its median with the target',
  async (t) => {
    const text = formatFigures([
      { name: 'start', unit: 'ms', found: [400, 600, 700], goal: 500 },
      { name: 'added, p50', unit: 'ms', found: [0.1, 0.2], goal: 1 },
      { name: 'upstream', unit: 'ms', found: [0.5], goal: undefined },
    ]).join('\n')
    t.match(text, /^ {2}start \(ms\) +400\.00 +600\.00 +700\.00 {3}target <= 500: NOT REACHED$/m)
    t.match(text, /^ {2}added, p50 \(ms\) +0\.10 +0\.15 +0\.20 {3}target <= 1: reached$/m)
    t.match(text, /^ {2}upstream \(ms\) +0\.50 +0\.50 +0\.50$/m)
  },
)

t.test('formatResult() omits the table of subjects when a row has no subjects', async (t) => {
  const figures = [{ name: 'start', unit: 'ms', found: [400], goal: 500 }]
  const text = formatResult({ title: 'A row', conditions: { a: 'b' }, measured: [], ratios: [], figures })
  t.match(text, /^A row\n {2}a: b\n +min +median +max\n {2}start \(ms\)/)
  t.notMatch(text, /CPU µs|NaN|Infinity/)
})
