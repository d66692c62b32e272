import { mock } from 'node:test'
import fc from 'fast-check'
import t from 'tap'
import { LogSink, type WriteBytes } from '../../../platform/logging/log-sink.ts'
import { until } from '../../fixtures/until.ts'

type Write = { readonly text: string; readonly done: Parameters<WriteBytes>[1] }

/** A sink whose writes the test completes. */
function aSink(heldCharacters = 100) {
  const writes: Write[] = []
  const state = { written: '', nowMs: 0 }
  const sink = new LogSink({
    heldCharacters,
    notice: (lines) => `[missing ${lines}]\n`,
    tickMs: () => state.nowMs,
    write: (bytes, done) => writes.push({ text: bytes.toString(), done }),
  })
  const take = (bytes?: number): void => {
    const { text, done } = writes.shift() as Write
    const part = text.slice(0, bytes ?? text.length)
    state.written += part
    done(null, part.length)
  }
  const fail = (code: string): void =>
    (writes.shift() as Write).done(Object.assign(new Error(code), { code }), 0)
  return { sink, writes, state, take, fail }
}

t.test('LogSink drops lines that exceed its buffer and writes a notice at their position', async (t) => {
  const { sink, writes, state, take } = aSink(20)
  sink.write('first\n')
  sink.write('12345678\n12345678\n')
  sink.write('dropped\ndropped\n')
  sink.write('dropped\n')
  t.equal(sink.droppedLines, 3)
  take()
  while (writes.length > 0) take()
  t.equal(state.written, 'first\n12345678\n12345678\n[missing 3]\n')
  sink.write('later\n')
  take()
  t.match(state.written, /missing 3\]\nlater\n$/)
  t.equal(sink.droppedLines, 3)
})

t.test('LogSink retries a slow reader and loses no line', async (t) => {
  const { sink, writes, state, take, fail } = aSink()
  sink.write('a line\n')
  for (let time = 0; time < 3; time++) {
    fail('EAGAIN')
    await until('the sink retries', async () => writes.length > 0)
  }
  take(3)
  take()
  t.equal(state.written, 'a line\n')
  t.equal(sink.droppedLines, 0)
})

t.test(
  'LogSink doubles the delay after each failed write and resets it to 1 ms after a success',
  async (t) => {
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const { sink, writes, take, fail } = aSink()
    const waits = (ms: number): void => {
      fail('EAGAIN')
      mock.timers.tick(ms - 1)
      t.equal(writes.length, 0, `no write before ${ms} ms`)
      mock.timers.tick(1)
      t.equal(writes.length, 1, `a write after ${ms} ms`)
    }
    sink.write('first\n')
    for (const ms of [1, 2, 4, 8, 16, 32, 64, 128, 128]) waits(ms)
    take()
    sink.write('second\n')
    waits(1)
    take()
  },
)

t.test('LogSink counts every line after a failure and retries with a line after one second', async (t) => {
  const { sink, writes, state, take, fail } = aSink()
  sink.write('first\nsecond\n')
  sink.write('third\n')
  take(7) // The second half of the line.
  fail('ENOSPC')
  t.equal(sink.droppedLines, 2)
  sink.write('fourth\n')
  t.equal(writes.length, 0)
  t.equal(sink.droppedLines, 3)
  state.nowMs = 1_001
  sink.write('fifth\n')
  fail('ENOSPC') // The write of the notice fails.
  t.equal(sink.droppedLines, 4)
  state.nowMs = 2_002
  sink.write('sixth\n')
  take()
  take()
  t.equal(state.written, 'first\ns\n[missing 4]\nsixth\n')
})

t.test(
  'LogSink resolves whenIdle() when it is empty, when it cannot write, and at the deadline',
  async (t) => {
    const { sink, take, fail } = aSink()
    await sink.whenIdle(60_000)
    sink.write('line\n')
    const idle = sink.whenIdle(60_000)
    take()
    await idle
    sink.write('line\n')
    const broken = sink.whenIdle(60_000)
    fail('EPIPE')
    await broken
    const other = aSink()
    other.sink.write('line\n')
    await other.sink.whenIdle(1)
    t.equal(other.sink.droppedLines, 0)
  },
)

t.test('LogSink writes the rest when the process exits', async (t) => {
  const { sink, fail } = aSink()
  sink.write('in flight\n')
  sink.write('held\n')
  t.equal(sink.takeRest(), 'held\n')
  const waiting = aSink()
  waiting.sink.write('behind\n')
  waiting.sink.write('held\n')
  waiting.fail('EAGAIN')
  t.equal(waiting.sink.takeRest(), 'behind\nheld\n')
  fail('EPIPE')
})

t.test(
  'LogSink accounts for every line: lines read plus lines reported as dropped equal lines logged',
  async (t) => {
    const action = fc.oneof(
      { weight: 4, arbitrary: fc.constant('line' as const) },
      { weight: 3, arbitrary: fc.nat(12) },
      { weight: 1, arbitrary: fc.constant('fail' as const) },
      { weight: 1, arbitrary: fc.constant('later' as const) },
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const { sink, writes, state, take, fail } = aSink(30)
        let lines = 0
        for (const one of actions)
          if (one === 'line') sink.write(`[line ${++lines}]\n`)
          else if (one === 'later') state.nowMs += 1_001
          else if (writes.length > 0) one === 'fail' ? fail('ENOSPC') : take(one)
        state.nowMs += 1_001
        sink.write(`[line ${++lines}]\n`)
        while (writes.length > 0) take()
        const whole = state.written.match(/^\[line \d+\]$/gm) ?? []
        const reported = [...state.written.matchAll(/^\[missing (\d+)\]$/gm)].map(([, count]) =>
          Number(count),
        )
        return (
          whole.length + sink.droppedLines === lines &&
          reported.reduce((sum, count) => sum + count, 0) === sink.droppedLines
        )
      }),
      { numRuns: 2_000 },
    )
    t.pass()
  },
)
