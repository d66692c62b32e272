import t from 'tap'
import { Circuit } from '../../../gateway/upstreams/circuit.ts'

const RULES = { failures: 3, longestPauseMs: 3_000 }

function opened(): Circuit {
  const circuit = new Circuit(RULES)
  for (let at = 1; at <= 3; at++) circuit.failed(at)
  return circuit
}

t.test('Circuit opens after the configured number of consecutive failures', async (t) => {
  const circuit = new Circuit(RULES)
  t.same([circuit.failed(1), circuit.failed(2)], [false, false])
  t.equal(circuit.takes, true)
  t.equal(circuit.failed(3), true)
  t.same([circuit.state, circuit.takes, circuit.pauseMs], ['open', false, 1_000])
})

t.test('Circuit resets the failures after a response', async (t) => {
  const circuit = new Circuit(RULES)
  circuit.failed(1)
  circuit.failed(2)
  circuit.answered(3)
  t.same([circuit.failed(4), circuit.failed(5), circuit.failed(6)], [false, false, true])
})

t.test('Circuit does not count a failure when a concurrent request got a response', async (t) => {
  const circuit = new Circuit(RULES)
  circuit.answered(10)
  for (let i = 0; i < 100; i++) t.equal(circuit.failed(10 - i), false)
  t.equal(circuit.state, 'closed')
})

t.test('Circuit allows one probe at a time when half-open', async (t) => {
  const circuit = opened()
  circuit.halfOpen(10)
  t.equal(circuit.takes, true)
  circuit.began(10)
  t.equal(circuit.takes, false)
  circuit.ended(10)
  t.equal(circuit.takes, true, 'a probe whose client left does not count')
  circuit.began(15)
  circuit.answered(20)
  t.same([circuit.state, circuit.takes], ['closed', true])
})

t.test('Circuit allows no second probe when a request from before it opened ends', async (t) => {
  const circuit = new Circuit(RULES)
  circuit.began(1)
  for (let at = 2; at <= 4; at++) circuit.failed(at)
  circuit.halfOpen(10)
  circuit.began(11)
  circuit.ended(1)
  t.equal(circuit.takes, false, 'the probe is still in progress')
  circuit.began(12)
  circuit.ended(12)
  t.equal(circuit.takes, false, 'a request beside the probe does not replace it')
  circuit.ended(11)
  t.equal(circuit.takes, true)
})

t.test('Circuit waits longer after each failed probe, up to a limit', async (t) => {
  const circuit = opened()
  for (const [at, pauseMs] of [
    [10, 2_000],
    [20, 3_000],
    [30, 3_000],
  ] as const) {
    circuit.halfOpen(at)
    circuit.began(at)
    t.equal(circuit.failed(at), true)
    t.same([circuit.state, circuit.pauseMs], ['open', pauseMs])
  }
  circuit.halfOpen(40)
  circuit.answered(41)
  t.equal(circuit.pauseMs, 1_000)
})

t.test('Circuit ignores a failure from before it opened', async (t) => {
  const circuit = opened()
  t.equal(circuit.failed(4), false)
  circuit.halfOpen(10)
  t.equal(circuit.failed(9), false)
  t.equal(circuit.state, 'half_open')
  circuit.answered(11)
  t.equal(circuit.state, 'closed', 'a late response counts as a response')
})
