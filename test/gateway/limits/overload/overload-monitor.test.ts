import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import t from 'tap'
import { collectGarbage } from '../../../../gateway/limits/overload/heap-use.ts'
import { OverloadMonitor } from '../../../../gateway/limits/overload/overload-monitor.ts'
import {
  createPressureReader,
  type PressureReading,
} from '../../../../gateway/limits/overload/read-pressure.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import { until } from '../../../fixtures/until.ts'

const CALM: PressureReading = { heap: 0.2, memory: 0, loop: 1, longestDelayMs: 5 }
const LIMITS = {
  heap: { close: 0.85, refuse: 0.92 },
  memory: { close: 0.85, refuse: 0.92 },
  loop: { close: 250, refuse: 500 },
}

function aMonitor() {
  const state = { reading: CALM, collections: 0, log: '' }
  const monitor = new OverloadMonitor({
    limits: LIMITS,
    read: () => state.reading,
    collectGarbage: () => {
      state.collections += 1
    },
    logger: createLogger({ level: 'info', service: 'gateway' }, { write: (line) => (state.log += line) }),
  })
  const look = (times: number, reading: Partial<PressureReading>): void => {
    state.reading = { ...CALM, ...reading }
    for (let time = 0; time < times; time++) monitor.measure()
  }
  return { monitor, state, look }
}

t.test(
  'OverloadMonitor changes to the levels for rejecting, closing and normal, and logs each change once',
  async (t) => {
    const { monitor, state, look } = aMonitor()
    look(5, {})
    t.match(monitor, { rejecting: undefined, closing: false, level: 'normal' })
    look(5, { heap: 0.95 })
    t.match(monitor, { rejecting: 'heap', closing: true, level: 'refusing' })
    look(20, {})
    t.match(monitor, { rejecting: undefined, closing: true, level: 'closing' })
    look(20, {})
    t.match(monitor, { rejecting: undefined, closing: false, level: 'normal' })
    const told = state.log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.match(told, [
      { level: 'warn', state: 'refusing', reason: 'heap', heap_ratio: 0.95 },
      { level: 'warn', state: 'closing', heap_ratio: 0.2 },
      { level: 'info', state: 'normal' },
    ])
    t.equal(told.length, 3)
  },
)

t.test(
  'OverloadMonitor requests garbage collection every two seconds only while container memory is short',
  async (t) => {
    const { state, look } = aMonitor()
    look(100, {})
    look(100, { loop: 900 })
    t.equal(state.collections, 0)
    look(100, { heap: 0.95 })
    t.equal(state.collections, 0, 'the heap is checked where it is monitored')
    look(60, { memory: 0.95 })
    t.equal(state.collections, 3)
  },
)

t.test(
  'OverloadMonitor is not ready while the event loop is over one second late, but tolerates a single delay',
  async (t) => {
    const { monitor, look } = aMonitor()
    look(2, { longestDelayMs: 1_500 })
    t.strictSame(monitor.check(), { name: 'event_loop', kind: 'event_loop', ok: true })
    look(1, { longestDelayMs: 1_500.4 })
    t.strictSame(monitor.check(), {
      name: 'event_loop',
      kind: 'event_loop',
      ok: false,
      detail: 'event loop delay up to 1500 ms',
    })
    look(1, { longestDelayMs: 900 })
    t.equal(monitor.check().ok, true)
    t.equal(monitor.takeLongestDelayMs(), 1_500.4)
    t.equal(monitor.takeLongestDelayMs(), 0)
  },
)

t.test(
  'createPressureReader() measures a blocked event loop, and the live heap after a full collection',
  async (t) => {
    const reader = createPressureReader({ processes: 1, tickMs: () => performance.now() })
    t.teardown(() => reader.close())
    // The reader under test started its own performance observer before this observer. That reader therefore receives
    // each collection first.
    const turns = monitorEventLoopDelay({ resolution: 20 })
    turns.enable()
    t.teardown(() => turns.disable())
    let collected = false
    const collections = new PerformanceObserver((list) => {
      const kinds = list.getEntries().map((entry) => Object(Object(entry)['detail'])['kind'])
      if (kinds.includes(constants.NODE_PERFORMANCE_GC_MAJOR)) collected = true
    })

    await until('the first turns', async () => turns.count >= 2)
    reader.read()
    const before = turns.count
    const endMs = performance.now() + 300
    while (performance.now() < endMs);
    await until('the late turn, and one more', async () => turns.count >= before + 2)
    const reading = reader.read()
    t.ok(reading.longestDelayMs >= 200, `${reading.longestDelayMs} ms`)
    t.ok(reading.heap > 0 && reading.heap < 1, `${reading.heap}`)
    t.ok(reading.memory >= 0 && Number.isFinite(reading.memory), `${reading.memory}`)

    const garbage = Array.from({ length: 200_000 }, (_, at) => ({ at }))
    t.equal(garbage.length, 200_000)
    garbage.length = 0
    collections.observe({ entryTypes: ['gc'] })
    t.teardown(() => collections.disconnect())
    collectGarbage()
    await until('the collection is reported', async () => collected)
    const lively = reader.read().heap
    const more = Array.from({ length: 200_000 }, (_, at) => ({ at }))
    t.equal(reader.read().heap <= lively, true, 'later growth may be garbage')
    t.equal(more.length, 200_000)
  },
)
