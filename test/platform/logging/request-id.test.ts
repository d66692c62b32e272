import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { createRequestIds, readRequestId } from '../../../platform/logging/request-id.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** More IDs than one buffer of random bytes supplies. */
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

t.test('createRequestIds() uses each random digit for only one position of an ID', async (t) => {
  const nextId = createRequestIds(() => 1_000)
  const ids = Array.from({ length: IDS }, () => nextId().replaceAll('-', '').slice(13))
  const digitsAt = (at: number): string => ids.map((id) => id[at]).join('')
  const columns = Array.from({ length: 19 }, (_, at) => digitsAt(at))
  // The variant digit keeps two low bits of its random digit. If two positions used the same random digit, the low bits
  // of these positions would be equal in every ID.
  const lowBits = columns.map((column) => [...column].map((digit) => Number.parseInt(digit, 16) & 3).join(''))
  t.equal(new Set(lowBits).size, 19, 'every two digits are independent')
  t.equal(new Set(digitsAt(3)).size, 4, 'the digit of the variant has four values')
  for (const [at, column] of columns.entries()) if (at !== 3) t.equal(new Set(column).size, 16, `digit ${at}`)
})

t.test('readRequestId() accepts 1 to 128 letters, digits, hyphens and underscores', async (t) => {
  const given = (id: string | undefined): string | undefined =>
    readRequestId({ headers: id === undefined ? {} : { 'x-request-id': id } } as unknown as IncomingMessage)
  for (const id of ['a', 'Z', '0', 'azAZ09-_', 'a'.repeat(128)]) t.equal(given(id), id)
  for (const id of [
    undefined,
    '',
    'a'.repeat(129),
    'a b',
    ' a',
    'a ',
    'a\n',
    'a.b',
    'a"',
    'a,b',
    'ä',
    'a:b',
    'a@b',
  ])
    t.equal(given(id), undefined, JSON.stringify(id))
})
