import t from 'tap'
import { createIssuerCircuit } from '../../../../gateway/tokens/introspection/issuer-circuit.ts'

function setUp() {
  const clock = { ms: 0 }
  const changes: boolean[] = []
  const circuit = createIssuerCircuit({ tickMs: () => clock.ms, onChange: (closed) => changes.push(closed) })
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) {
      clock.ms += 1
      circuit.began(clock.ms)
      circuit.failed(clock.ms)
      circuit.ended(clock.ms)
    }
  }
  return { clock, changes, circuit, fail }
}

t.test('refusedForMs() rejects after five consecutive failures and returns the wait time', async (t) => {
  const { clock, changes, circuit, fail } = setUp()
  fail(4)
  t.equal(circuit.refusedForMs(), undefined)
  fail(1)
  t.equal(circuit.refusedForMs(), 1_000)
  clock.ms += 400
  t.equal(circuit.refusedForMs(), 600)
  t.same(changes, [false], 'logged once')
})

t.test('refusedForMs() allows one probe after the pause, and doubles the pause when it fails', async (t) => {
  const { clock, circuit, fail } = setUp()
  fail(5)
  const pauses: (number | undefined)[] = []
  for (let i = 0; i < 5; i++) {
    clock.ms += circuit.refusedForMs() ?? 0
    t.equal(circuit.refusedForMs(), undefined, 'the first request may try')
    circuit.began(clock.ms)
    t.equal(circuit.refusedForMs(), 1_000, 'the second request may not')
    circuit.failed(clock.ms)
    circuit.ended(clock.ms)
    pauses.push(circuit.refusedForMs())
  }
  t.same(pauses, [2_000, 4_000, 5_000, 5_000, 5_000])
})

t.test('answered() closes the circuit for all requests', async (t) => {
  const { clock, changes, circuit, fail } = setUp()
  fail(5)
  clock.ms += 1_000
  t.equal(circuit.refusedForMs(), undefined)
  circuit.began(clock.ms)
  circuit.answered()
  circuit.ended(clock.ms)
  t.equal(circuit.refusedForMs(), undefined)
  t.same(changes, [false, true])
  fail(4)
  t.equal(circuit.refusedForMs(), undefined, 'the count starts again')
})
