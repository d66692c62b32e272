import t from 'tap'
import { createRefreshGate } from '../../../authorization-server/endpoints/refresh-gate.ts'

/** A gate whose time passes only when the test says so. */
function aGate(onWait: (ms: number) => void = () => {}) {
  return createRefreshGate({
    nextTurn: async () => {},
    wait: async (ms) => onWait(ms),
  })
}

t.test(
  'createRefreshGate() lets one use of a token in and turns the others away until it is released',
  async (t) => {
    const gate = aGate()
    const lease = gate.enter('a-token', 'a-client')
    t.ok(lease)
    t.equal(gate.enter('a-token', 'a-client'), undefined)
    lease?.release()
    t.ok(gate.enter('a-token', 'a-client'))
  },
)

t.test('createRefreshGate() keeps tokens and clients apart', async (t) => {
  const gate = aGate()
  t.ok(gate.enter('a-token', 'a-client'))
  t.ok(gate.enter('another-token', 'a-client'))
  t.ok(gate.enter('a-token', 'another-client'))
})

t.test('settle() does not wait for a refresh that came alone', async (t) => {
  const waits: number[] = []
  await aGate((ms) => waits.push(ms))
    .enter('a-token', 'a-client')
    ?.settle()
  t.same(waits, [])
})

t.test('settle() waits until company stops coming, at most a second', async (t) => {
  const waits: number[] = []
  const gate = aGate((ms) => {
    waits.push(ms)
    if (waits.length < 3) gate.enter('a-token', 'a-client')
  })
  const lease = gate.enter('a-token', 'a-client')
  gate.enter('a-token', 'a-client')
  await lease?.settle()
  t.same(waits, [50, 50, 50])

  let endless = 0
  const crowded = aGate(() => {
    endless += 1
    crowded.enter('a-token', 'a-client')
  })
  const held = crowded.enter('a-token', 'a-client')
  crowded.enter('a-token', 'a-client')
  await held?.settle()
  t.equal(endless, 20)
})
