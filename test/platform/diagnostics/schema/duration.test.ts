import t from 'tap'
import { parseDurationMs } from '../../../../platform/diagnostics/schema/duration.ts'

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
