import t from 'tap'
import { CircuitBreaker } from '../../platform/circuit-breaker.ts'

const RULES = { failures: 3, longestPauseMs: 3_000 }

function opened(): CircuitBreaker {
  const circuit = new CircuitBreaker(RULES, () => undefined)
  for (let at = 1; at <= 3; at++) circuit.failed(at, at)
  return circuit
}

t.test('CircuitBreaker opens after the configured number of consecutive failures', async (t) => {
  const circuit = new CircuitBreaker(RULES, () => undefined)
  t.same([circuit.failed(1, 1), circuit.failed(2, 2)], [false, false])
  t.equal(circuit.isAccepting(2), true)
  t.equal(circuit.failed(3, 3), true)
  t.same([circuit.state, circuit.isAccepting(3), circuit.pauseMs], ['open', false, 1_000])
})

t.test('CircuitBreaker resets the failures after a response', async (t) => {
  const circuit = new CircuitBreaker(RULES, () => undefined)
  circuit.failed(1, 1)
  circuit.failed(2, 2)
  circuit.succeeded(3)
  t.same([circuit.failed(4, 4), circuit.failed(5, 5), circuit.failed(6, 6)], [false, false, true])
})

t.test('CircuitBreaker does not count a failure when a concurrent request got a response', async (t) => {
  const circuit = new CircuitBreaker(RULES, () => undefined)
  circuit.succeeded(10)
  for (let i = 0; i < 100; i++) t.equal(circuit.failed(10 - i, 10 - i), false)
  t.equal(circuit.state, 'closed')
})

t.test('CircuitBreaker allows one trial at a time when half-open', async (t) => {
  const circuit = opened()
  circuit.halfOpen(10)
  t.equal(circuit.isAccepting(10), true)
  const trial = circuit.started(10)
  t.equal(circuit.isAccepting(10), false)
  circuit.ended(trial)
  t.equal(circuit.isAccepting(10), true, 'a trial whose client left does not count')
  circuit.started(15)
  circuit.succeeded(20)
  t.same([circuit.state, circuit.isAccepting(20)], ['closed', true])
})

t.test('CircuitBreaker distinguishes the trial from requests that started at the same time', async (t) => {
  const circuit = new CircuitBreaker(RULES, () => undefined)
  const early = circuit.started(4)
  for (let at = 2; at <= 4; at++) circuit.failed(at, at)
  circuit.halfOpen(4)
  const trial = circuit.started(4)
  const beside = circuit.started(4)
  t.same([early, beside], [undefined, undefined])
  circuit.ended(early)
  circuit.ended(beside)
  t.equal(circuit.isAccepting(4), false, 'the trial is still in progress')
  circuit.ended(trial)
  t.equal(circuit.isAccepting(4), true)
})

t.test('CircuitBreaker allows another trial when the current trial is older than 5 s', async (t) => {
  const circuit = opened()
  circuit.halfOpen(10)
  const slow = circuit.started(10)
  t.same([circuit.isAccepting(5_009), circuit.rejectsForMs(5_009)], [false, 1_000])
  t.equal(circuit.started(5_009), undefined)
  t.same([circuit.isAccepting(5_010), circuit.rejectsForMs(5_010)], [true, undefined])
  const next = circuit.started(5_010)
  t.not(next, undefined)
  t.equal(circuit.isAccepting(5_010), false, 'the next trial is in progress')
  circuit.ended(slow)
  t.equal(circuit.isAccepting(5_011), false, 'the end of the slow trial does not end the next trial')
  circuit.ended(next)
  t.equal(circuit.isAccepting(5_011), true)
})

t.test('CircuitBreaker opens when a replaced trial fails, and closes when it gets a response', async (t) => {
  const failing = opened()
  failing.halfOpen(10)
  failing.started(10)
  failing.started(5_010)
  t.equal(failing.failed(10, 6_000), true)
  t.same([failing.state, failing.pauseMs], ['open', 2_000])
  t.equal(failing.failed(5_010, 6_001), false, 'the failure of the current trial does not count again')
  t.equal(failing.pauseMs, 2_000)

  const responding = opened()
  responding.halfOpen(10)
  responding.started(10)
  responding.started(5_010)
  responding.succeeded(6_000)
  t.equal(responding.failed(5_010, 7_000), false, 'the target responded during the request')
  t.equal(responding.state, 'closed')
})

t.test('CircuitBreaker waits longer after each failed trial, up to a limit', async (t) => {
  const circuit = opened()
  for (const [at, pauseMs] of [
    [10, 2_000],
    [20, 3_000],
    [30, 3_000],
  ] as const) {
    circuit.halfOpen(at)
    circuit.started(at)
    t.equal(circuit.failed(at, at), true)
    t.same([circuit.state, circuit.pauseMs], ['open', pauseMs])
  }
  circuit.halfOpen(40)
  circuit.succeeded(41)
  t.equal(circuit.pauseMs, 1_000)
})

t.test('CircuitBreaker ignores a failure from before it opened', async (t) => {
  const circuit = opened()
  t.equal(circuit.failed(4, 4), false)
  circuit.halfOpen(10)
  t.equal(circuit.failed(9, 9), false)
  t.equal(circuit.state, 'half_open')
  circuit.succeeded(11)
  t.equal(circuit.state, 'closed', 'a late response counts as a response')
})

function timed() {
  const clock = { ms: 0 }
  const changes: boolean[] = []
  const rules = { failures: 5, longestPauseMs: 5_000 }
  const circuit = new CircuitBreaker(rules, (isClosed) => changes.push(isClosed))
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) {
      clock.ms += 1
      const trial = circuit.started(clock.ms)
      circuit.failed(clock.ms, clock.ms)
      circuit.ended(trial)
    }
  }
  return { clock, changes, circuit, fail, rejectsForMs: () => circuit.rejectsForMs(clock.ms) }
}

t.test('rejectsForMs() rejects after consecutive failures and returns the wait time', async (t) => {
  const { clock, changes, fail, rejectsForMs } = timed()
  fail(4)
  t.equal(rejectsForMs(), undefined)
  t.same(changes, [])
  fail(1)
  t.equal(rejectsForMs(), 1_000)
  clock.ms += 400
  t.equal(rejectsForMs(), 600)
  fail(10)
  t.same(changes, [false], 'one call for the opened circuit')
})

t.test('rejectsForMs() allows one trial after the pause, and doubles the pause when it fails', async (t) => {
  const { clock, changes, circuit, fail, rejectsForMs } = timed()
  fail(5)
  const pauses: (number | undefined)[] = []
  for (let i = 0; i < 5; i++) {
    clock.ms += rejectsForMs() ?? 0
    t.equal(rejectsForMs(), undefined, 'the first request may try')
    const trial = circuit.started(clock.ms)
    t.equal(rejectsForMs(), 1_000, 'the second request may not')
    circuit.failed(clock.ms, clock.ms)
    circuit.ended(trial)
    pauses.push(rejectsForMs())
  }
  t.same(pauses, [2_000, 4_000, 5_000, 5_000, 5_000])
  t.same(changes, [false], 'a failed trial is not reported')
})

t.test('succeeded() closes the circuit for all requests', async (t) => {
  const { clock, changes, circuit, fail, rejectsForMs } = timed()
  fail(5)
  clock.ms += 1_000
  t.equal(rejectsForMs(), undefined)
  const trial = circuit.started(clock.ms)
  circuit.succeeded(clock.ms)
  circuit.ended(trial)
  t.equal(rejectsForMs(), undefined)
  t.same(changes, [false, true])
  fail(4)
  t.equal(rejectsForMs(), undefined, 'the count starts again')
})
