import t from 'tap'
import { createRequestIds } from '../../../gateway/observability/request-id.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** More IDs than the random bytes of one draw provide. */
const IDS = 2_000

t.test('createRequestIds() creates a UUID of version 7 that starts with the time', async (t) => {
  let nowMs = 0x0192_3456_789a
  const nextId = createRequestIds(() => nowMs)
  t.match(nextId(), UUID_V7)
  t.match(nextId(), /^01923456-789a-7/)
  nowMs += 1
  t.match(nextId(), /^01923456-789b-7/)
})

t.test('createRequestIds() creates different IDs in one millisecond, and in two processes', async (t) => {
  const [one, other] = [createRequestIds(() => 1_000), createRequestIds(() => 1_000)]
  const ids = Array.from({ length: IDS }, () => [one(), other()]).flat()
  t.equal(new Set(ids).size, 2 * IDS)
  t.ok(ids.every((id) => UUID_V7.test(id)))
})
