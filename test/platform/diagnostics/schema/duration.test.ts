import t from 'tap'
import {
  formatDuration,
  parseDurationMs,
  TIMEOUT_PATTERN,
  WINDOW_PATTERN,
} from '../../../../platform/diagnostics/schema/duration.ts'

t.test('parseDurationMs() rejects text that is not a whole number with a unit', async (t) => {
  for (const text of [
    '',
    '5',
    's',
    '5 s',
    ' 5s',
    '5s\n',
    '-5s',
    '+5s',
    '1.5s',
    '5S',
    '5sec',
    '5w',
    '1h30m',
    '0x5s',
    '٥s',
    '99999999d',
    '1e3s',
  ])
    t.equal(parseDurationMs(text), undefined, JSON.stringify(text))
})

t.test('parseDurationMs() reads each unit', async (t) => {
  const cases = {
    '0s': 0,
    '250ms': 250,
    '5s': 5_000,
    '1m': 60_000,
    '12h': 43_200_000,
    '30d': 2_592_000_000,
    '9999999d': 863_999_913_600_000,
  }
  for (const [text, ms] of Object.entries(cases)) t.equal(parseDurationMs(text), ms, text)
})

t.test('formatDuration() uses the largest unit that divides the milliseconds, and no days', async (t) => {
  const cases = {
    '1ms': 1,
    '1s': 1_000,
    '1001ms': 1_001,
    '90s': 90_000,
    '2m': 120_000,
    '1h': 3_600_000,
    '48h': 172_800_000,
    '0.5ms': 0.5,
  }
  for (const [text, ms] of Object.entries(cases)) t.equal(formatDuration(ms), text, text)
})

/** The texts that a pattern accepts, of all whole numbers below `end` with each unit. */
function accepted(pattern: string, end: number): Record<string, string> {
  const form = new RegExp(pattern)
  return Object.fromEntries(
    ['ms', 's', 'm', 'h', 'd'].map((unit) => {
      const numbers = Array.from({ length: end }, (_, number) => number).filter((number) =>
        form.test(`${number}${unit}`),
      )
      return [
        unit,
        numbers.length === 0 ? 'none' : `${numbers[0]} to ${numbers.at(-1)}, ${numbers.length} numbers`,
      ]
    }),
  )
}

t.test('TIMEOUT_PATTERN accepts 1 ms to 99 h', async (t) => {
  t.strictSame(accepted(TIMEOUT_PATTERN, 200_000), {
    ms: '1 to 199999, 199999 numbers',
    s: '1 to 99999, 99999 numbers',
    m: '1 to 999, 999 numbers',
    h: '1 to 99, 99 numbers',
    d: 'none',
  })
  for (const text of ['9999999ms', '1ms']) t.match(text, new RegExp(TIMEOUT_PATTERN))
  for (const text of ['10000000ms', '01s', 'x1s', '1s ', '1sx']) t.notMatch(text, new RegExp(TIMEOUT_PATTERN))
})

t.test('WINDOW_PATTERN accepts 1 s to 24 h', async (t) => {
  t.strictSame(accepted(WINDOW_PATTERN, 200_000), {
    ms: 'none',
    s: '1 to 86400, 86400 numbers',
    m: '1 to 1440, 1440 numbers',
    h: '1 to 24, 24 numbers',
    d: 'none',
  })
  for (const text of ['01s', 'x1s', '1sx']) t.notMatch(text, new RegExp(WINDOW_PATTERN))
})
