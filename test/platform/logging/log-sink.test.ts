import { mock } from 'node:test'
import fc from 'fast-check'
import t from 'tap'
import { LogSink, type WriteBytes } from '../../../platform/logging/log-sink.ts'
import { until } from '../../fixtures/until.ts'

type Write = { readonly text: string; readonly done: Parameters<WriteBytes>[1] }

/** A write completes only when the test calls `take` or `fail`. */
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
  take(7) // The reader takes 7 characters: the first line and `s`.
  fail('ENOSPC')
  t.equal(sink.droppedLines, 2)
  sink.write('fourth\n')
  t.equal(writes.length, 0)
  t.equal(sink.droppedLines, 3)
  state.nowMs = 1_001
  sink.write('fifth\n')
  fail('ENOSPC') // the write of the notice fails
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

t.test(
  'LogSink buffers exactly heldCharacters, and accepts lines again when half of the buffer is free',
  async (t) => {
    const { sink, writes, take } = aSink(10)
    sink.write('in flight\n')
    sink.write('12345\n')
    sink.write('789\n') // the buffer contains 10 characters, which is the limit
    t.equal(sink.droppedLines, 0)
    sink.write('\n')
    t.equal(sink.droppedLines, 1)
    take() // the 10 characters are in flight, and the buffer is empty
    sink.write('12345\n')
    t.equal(sink.droppedLines, 1)
    t.strictSame(
      writes.map(({ text }) => text),
      ['12345\n789\n'],
    )
  },
)

for (const [held, dropped] of [
  [100_000, 1],
  [100_001, 2],
] as const)
  t.test(
    `LogSink with a buffer of 200,000 characters and ${held} buffered characters has dropped ${dropped} lines`,
    async (t) => {
      const { sink, take } = aSink(200_000)
      sink.write('in flight\n')
      sink.write(`${'x'.repeat(199_999 - held)}\n`)
      sink.write(`${'x'.repeat(held - 1)}\n`)
      sink.write('dropped\n')
      t.equal(sink.droppedLines, 1)
      take() // the sink starts to write the second text and fills a pipe; the buffer contains the third text
      sink.write('x\n')
      t.equal(sink.droppedLines, dropped)
    },
  )

t.test('LogSink joins buffered lines up to the capacity of a pipe', async (t) => {
  const { sink, writes, take } = aSink(1_000_000)
  const line = (characters: number): string => `${'x'.repeat(characters - 1)}\n`
  sink.write('first\n')
  for (const characters of [65_535, 10, 65_536, 5, 6]) sink.write(line(characters))
  const lengths: number[] = []
  while (writes.length > 0) {
    t.equal(writes.length, 1)
    lengths.push(writes[0]?.text.length ?? 0)
    take()
  }
  t.strictSame(lengths, [6, 65_545, 65_536, 11])
})

t.test('LogSink writes a notice separately from the lines around it', async (t) => {
  const { sink, writes, take } = aSink(20)
  sink.write('a\n')
  sink.write('bbbbbbbbbbbbbbbbbbb\n')
  sink.write('dropped\ndropped\n')
  const written: string[] = []
  const next = (): void => {
    written.push(writes[0]?.text ?? '')
    take()
  }
  next() // the buffer is empty
  sink.write('c\n')
  sink.write('d\n')
  while (writes.length > 0) next()
  t.strictSame(written, ['a\n', 'bbbbbbbbbbbbbbbbbbb\n', '[missing 2]\n', 'c\nd\n'])
})

t.test('LogSink keeps the process alive for retries, except for the longest delay', async (t) => {
  const { sink, writes, fail } = aSink()
  const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
  const before = timers()
  sink.write('line\n')
  fail('EAGAIN')
  t.equal(timers(), before + 1)
  await until('the sink retries', async () => writes.length > 0)
  mock.timers.enable({ apis: ['setTimeout'] })
  for (let time = 0; time < 6; time++) {
    fail('EAGAIN')
    mock.timers.tick(64)
  }
  mock.timers.reset()
  const idle = timers()
  fail('EAGAIN') // the delay before the next retry is 128 ms, the longest delay
  t.equal(timers(), idle)
  t.equal(sink.takeRest(), 'line\n')
})

t.test('LogSink returns the unwritten rest of a line that waits for a retry only once', async (t) => {
  const { sink, take, fail } = aSink()
  sink.write('a line\n')
  sink.write('held\n')
  take(2)
  fail('EAGAIN')
  t.equal(sink.takeRest(), 'line\nheld\n')
  const other = aSink()
  other.sink.write('in flight\n')
  other.sink.write('held\n')
  other.sink.write('more\n')
  t.equal(other.sink.takeRest(), 'held\nmore\n')
  t.equal(other.sink.takeRest(), '')
  t.equal(aSink().sink.takeRest(), '')
})

t.test('LogSink waits at most for the given time in whenIdle(), and leaves no timer', async (t) => {
  const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
  const { sink, take } = aSink()
  const before = timers()
  sink.write('line\n')
  const idle = [sink.whenIdle(600_000), sink.whenIdle(600_000)]
  t.equal(timers(), before + 2)
  take()
  await Promise.all(idle)
  t.equal(timers(), before)
})

t.test('LogSink retries exactly one second after a failed write', async (t) => {
  const { sink, writes, state, fail } = aSink()
  state.nowMs = 5_000
  sink.write('line\n')
  fail('EPIPE')
  state.nowMs = 5_999
  sink.write('dropped\n')
  t.equal(writes.length, 0)
  state.nowMs = 6_000
  sink.write('line\n')
  t.equal(writes.length, 1)
  t.equal(sink.droppedLines, 2)
})

t.test('LogSink ends an incomplete line before the next one', async (t) => {
  const { sink, state, take, fail } = aSink()
  sink.write('one\ntwo\n')
  take(5)
  fail('ENOSPC')
  t.equal(sink.droppedLines, 1)
  state.nowMs = 1_000
  sink.write('three\n')
  take()
  take()
  t.equal(state.written, 'one\nt\n[missing 1]\nthree\n')
  sink.write('four\n')
  take()
  t.equal(state.written, 'one\nt\n[missing 1]\nthree\nfour\n')
})

t.test('LogSink counts empty lines', async (t) => {
  for (const [text, lines] of [
    ['\n', 1],
    ['a\n\n\nb\n', 4],
  ] as const) {
    const { sink, fail } = aSink()
    sink.write(text)
    fail('EPIPE')
    t.equal(sink.droppedLines, lines)
  }
})

t.test('LogSink accepts lines again when a failed write has emptied a full buffer', async (t) => {
  const { sink, state, writes, fail } = aSink(10)
  sink.write('in flight\n')
  sink.write('123456789\n')
  sink.write('dropped\n')
  fail('EPIPE')
  t.equal(sink.droppedLines, 3)
  state.nowMs = 1_000
  sink.write('x\n')
  t.equal(writes.length, 1)
  t.equal(sink.droppedLines, 3)
})

t.test('LogSink passes each dropped line to onDropped, complete and once', async (t) => {
  const writes: Write[] = []
  const state = { nowMs: 0, dropped: '' }
  const sink = new LogSink({
    heldCharacters: 12,
    notice: (lines) => `[missing ${lines}]\n`,
    tickMs: () => state.nowMs,
    write: (bytes, done) => writes.push({ text: bytes.toString(), done }),
    onDropped: (lines) => (state.dropped += lines),
  })
  const settle = (written: number, code?: string): void => {
    const { done } = writes.shift() as Write
    done(code === undefined ? null : Object.assign(new Error(code), { code }), written)
  }
  sink.write('one\ntwö\n')
  sink.write('three\nfour\n')
  sink.write('five\n')
  t.equal(state.dropped, 'five\n', 'the buffer is full')
  settle(6)
  settle(0, 'ENOSPC')
  t.equal(state.dropped, 'five\ntwö\nthree\nfour\n', 'a partly written line is complete')
  sink.write('six\n')
  t.equal(state.dropped, 'five\ntwö\nthree\nfour\nsix\n', 'writes pause after a failure')
  t.equal(sink.droppedLines, 5)
})
