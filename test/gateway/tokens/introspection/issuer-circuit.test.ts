import t from 'tap'
import { createIssuerCircuit } from '../../../../gateway/tokens/introspection/issuer-circuit.ts'

function setUp() {
  const clock = { ms: 0 }
  const changes: boolean[] = []
  const circuit = createIssuerCircuit({ tickMs: () => clock.ms, onChange: (closed) => changes.push(closed) })
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) {
      clock.ms += 1
      circuit.began()
      circuit.failed(clock.ms)
      circuit.ended()
    }
  }
  return { clock, changes, circuit, fail }
}

t.test('refusedForMs() refuses after five failures in a row, and says for how long', async (t) => {
  const { clock, changes, circuit, fail } = setUp()
  fail(4)
  t.equal(circuit.refusedForMs(), undefined)
  fail(1)
  t.equal(circuit.refusedForMs(), 1_000)
  clock.ms += 400
  t.equal(circuit.refusedForMs(), 600)
  t.same(changes, [false], 'it is told once')
})

t.test('refusedForMs() lets one try when the pause is over, and doubles it when that fails', async (t) => {
  const { clock, circuit, fail } = setUp()
  fail(5)
  const pauses: (number | undefined)[] = []
  for (let i = 0; i < 5; i++) {
    clock.ms += circuit.refusedForMs() ?? 0
    t.equal(circuit.refusedForMs(), undefined, 'the first one may')
    circuit.began()
    t.equal(circuit.refusedForMs(), 1_000, 'the second one may not')
    circuit.failed(clock.ms)
    circuit.ended()
    pauses.push(circuit.refusedForMs())
  }
  t.same(pauses, [2_000, 4_000, 5_000, 5_000, 5_000])
})

t.test('answered() opens the way for everybody', async (t) => {
  const { clock, changes, circuit, fail } = setUp()
  fail(5)
  clock.ms += 1_000
  t.equal(circuit.refusedForMs(), undefined)
  circuit.began()
  circuit.answered()
  circuit.ended()
  t.equal(circuit.refusedForMs(), undefined)
  t.same(changes, [false, true])
  fail(4)
  t.equal(circuit.refusedForMs(), undefined, 'counting starts anew')
})
