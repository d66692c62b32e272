import t from 'tap'
import { formatResult, pairUp, ratioOfMinima } from '../../bench/format-result.ts'
import type { Measured } from '../../bench/measure-rounds.ts'

const aSubject = (name: string, ...cpuMicrosPerRequest: number[]): Measured => ({
  name,
  samples: cpuMicrosPerRequest.map((micros) => ({
    requests: 1000,
    elapsedMs: 100,
    cpuMicros: micros * 1000,
    othersMicros: 0,
  })),
})

t.test(
  'pairUp() compares rounds with the same number, not the best round with the worst round',
  async (t) => {
    t.same(pairUp([aSubject('a', 10, 40), aSubject('b', 20, 80)], 'a', 'b'), [0.5, 0.5])
  },
)

t.test('pairUp() returns an empty list for a subject that was not measured', async (t) => {
  t.same(pairUp([aSubject('a', 10)], 'a', 'haproxy'), [])
})

t.test('ratioOfMinima() compares the smallest figures of all rounds', async (t) => {
  const measured = [aSubject('a', 30, 10, 50), aSubject('b', 20, 80, 90)]
  t.equal(ratioOfMinima(measured, 'a', 'b'), 0.5)
  t.equal(ratioOfMinima(measured, 'a', 'haproxy'), undefined)
})

t.test('formatResult() shows every subject, the ratio and the conditions', async (t) => {
  const text = formatResult({
    title: 'A row',
    conditions: { load: 'wrk 4.1.0' },
    measured: [aSubject('a', 10, 30), aSubject('b', 20, 80)],
    ratios: [{ of: 'a', to: 'b', goal: 0.55 }],
  })
  t.match(text, /^A row\n {2}load: wrk 4\.1\.0\n/)
  t.equal(text.match(/ min +25 % +median +75 % +max /g)?.length, 2, 'the heads of both tables')
  t.match(text, /^ {2}a +10\.0 +15\.0 +20\.0 +25\.0 +30\.0 +10000 +20 %$/m)
  t.match(text, /^ {2}a \/ b +0\.38 +0\.41 +0\.44 +0\.47 +0\.50 +0\.50 {3}target <= 0\.55: reached$/m)
})

t.test('formatResult() reports when other programs used the processor', async (t) => {
  const noisy = {
    ...aSubject('a', 10),
    samples: [{ requests: 1000, elapsedMs: 100, cpuMicros: 10_000, othersMicros: 30_000 }],
  }
  const text = formatResult({ title: 'A row', conditions: {}, measured: [noisy], ratios: [] })
  t.match(text, /NOISE: other programs took 30 % of the server's processor/)
})

t.test('formatResult() shows a ratio without a target, and does not rate it', async (t) => {
  const text = formatResult({
    title: 'A row',
    conditions: {},
    measured: [aSubject('a', 30), aSubject('b', 20)],
    ratios: [
      { of: 'a', to: 'b', goal: undefined },
      { of: 'b', to: 'a', goal: 0.5 },
    ],
  })
  t.match(text, /^ {2}a \/ b +1\.50 +1\.50 +1\.50 +1\.50 +1\.50 +1\.50$/m)
  t.match(text, /target <= 0\.5: NOT REACHED$/m)
})
