import t from 'tap'
import {
  NORMAL,
  nextOverloadLevel,
  type OverloadLevel,
  type OverloadLimits,
  type Pressure,
} from '../../../../gateway/limits/overload/overload-level.ts'

const LIMITS: OverloadLimits = {
  heap: { close: 0.85, refuse: 0.92 },
  memory: { close: 0.85, refuse: 0.92 },
  loop: { close: 250, refuse: 500 },
}
const CALM: Pressure = { heap: 0.2, memory: 0.2, loop: 2 }

function after(start: OverloadLevel, ...readings: readonly Partial<Pressure>[]): OverloadLevel {
  let level = start
  for (const reading of readings) level = nextOverloadLevel(level, { ...CALM, ...reading }, LIMITS)
  return level
}
const times = (count: number, reading: Partial<Pressure>) => Array.from({ length: count }, () => reading)

t.test('nextOverloadLevel() rises immediately to the required level for each kind of pressure', async (t) => {
  for (const [reading, level, reason] of [
    [{}, 'normal', undefined],
    [{ heap: 0.84, memory: 0.84, loop: 249 }, 'normal', undefined],
    [{ heap: 0.85 }, 'closing', 'heap'],
    [{ memory: 0.91 }, 'closing', 'memory'],
    [{ loop: 250 }, 'closing', 'loop'],
    [{ heap: 0.92 }, 'refusing', 'heap'],
    [{ memory: 1.1 }, 'refusing', 'memory'],
    [{ loop: 500 }, 'refusing', 'loop'],
    [{ heap: 0.93, loop: 5_000 }, 'refusing', 'loop'],
    [{ heap: 0.99, memory: 0.93, loop: 300 }, 'refusing', 'heap'],
    [{ heap: 0.86, loop: 501 }, 'refusing', 'loop'],
  ] as const)
    t.match(after(NORMAL, reading), { level, reason }, JSON.stringify(reading))
  t.match(after(NORMAL, { heap: 0.9 }, { loop: 900 }), { level: 'refusing', reason: 'loop' })
})

t.test('nextOverloadLevel() falls by one level after twenty calm readings in a row', async (t) => {
  const rejecting = after(NORMAL, { heap: 0.95 })
  t.equal(after(rejecting, ...times(19, {})).level, 'refusing')
  t.equal(after(rejecting, ...times(20, {})).level, 'closing')
  t.equal(after(rejecting, ...times(39, {})).level, 'closing')
  t.strictSame(after(rejecting, ...times(40, {})), NORMAL)
  t.equal(after(rejecting, ...times(19, {}), { heap: 0.95 }, ...times(19, {})).level, 'refusing')
})

t.test('nextOverloadLevel() does not fall while a reading is just below its limit', async (t) => {
  const rejecting = after(NORMAL, { heap: 0.95 })
  t.match(after(rejecting, ...times(50, { heap: 0.83 })), { level: 'refusing', reason: 'heap' })
  t.equal(after(rejecting, ...times(50, { heap: 0.8 })).level, 'closing')
  t.equal(after(rejecting, ...times(50, { heap: 0.7 })).level, 'normal')
  t.match(after(rejecting, ...times(3, { memory: 0.9 })), { level: 'refusing', reason: 'memory' })
})

t.test('nextOverloadLevel() treats missing readings as no pressure', async (t) => {
  t.strictSame(after(NORMAL, { loop: Number.NaN, memory: 0 }), NORMAL)
})
