import t from 'tap'
import {
  createDecisionRecorder,
  type DecisionRecord,
  type DecisionRecorder,
} from '../../../gateway/observability/decision-recorder.ts'
import { unparsedEntry, unparsedRecord } from '../../../gateway/observability/unparsed-request.ts'
import { aCaller } from '../../fixtures/a-caller.ts'

const REJECTION = { rejected: 'route_unknown' } as const

function aRecord(requestId: string, change: Partial<DecisionRecord> = {}, isKnown = false): DecisionRecord {
  const unparsed = { requestId, status: 404, rejection: REJECTION, peer: '127.0.0.1' }
  const entry = { ...unparsedEntry(unparsed, Number(requestId)), caller: isKnown ? aCaller() : undefined }
  return { ...unparsedRecord(unparsed, entry), ...change }
}

const idsOf = (recorder: DecisionRecorder) => [...recorder.newestFirst()].map(({ entry }) => entry.requestId)

t.test('a ring keeps the last 1,000 rejections, the newest first', async (t) => {
  const recorder = createDecisionRecorder(() => 0)
  for (let id = 1; id <= 2_500; id++) recorder.add(aRecord(String(id)))
  const ids = idsOf(recorder)
  t.equal(ids.length, 1_000)
  t.equal(ids[0], '2500')
  t.equal(ids.at(-1), '1501')
})

t.test('a ring evicts rejections when their texts are longer than 1 Mi characters', async (t) => {
  const recorder = createDecisionRecorder(() => 0)
  for (let id = 1; id <= 100; id++) recorder.add(aRecord(String(id), { textLength: 65_536 }))
  t.equal(recorder.size, 16)
  recorder.add(aRecord('101', { textLength: 5_000_000 }))
  t.strictSame(idsOf(recorder), ['101'], 'the newest record stays')
})

t.test('rejections of unknown callers do not evict rejections of known callers', async (t) => {
  const recorder = createDecisionRecorder(() => 0)
  recorder.add(aRecord('1', {}, true))
  for (let id = 2; id <= 5_000; id++) recorder.add(aRecord(String(id)))
  t.ok(idsOf(recorder).includes('1'))
})

t.test('the recorder records at most 200 allowed requests per second, and counts the others', async (t) => {
  let nowMs = 0
  const recorder = createDecisionRecorder(() => nowMs)
  const allowed = { rejection: undefined }
  for (let id = 1; id <= 300; id++) recorder.add(aRecord(String(id), allowed))
  t.equal(recorder.size, 200)
  t.equal(recorder.leftOut, 100)
  recorder.add(aRecord('301'))
  t.equal(recorder.size, 201, 'the limit does not apply to rejections')
  nowMs = 1_000
  recorder.add(aRecord('302', allowed))
  t.equal(idsOf(recorder)[0], '302')
})
