import t from 'tap'
import { sampledTraceId } from '../../platform/tracing/traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

t.test('sampledTraceId() returns the trace ID of a valid header with the flag `sampled`', async (t) => {
  for (const flags of ['01', '03', 'ff', '0b']) t.equal(sampledTraceId(`00-${TRACE}-${SPAN}-${flags}`), TRACE)
  t.equal(sampledTraceId(`01-${TRACE}-${SPAN}-01-later`), TRACE, 'a later version can have more fields')
})

t.test('sampledTraceId() ignores headers that are not sampled or not valid', async (t) => {
  for (const value of [
    undefined,
    '',
    [`00-${TRACE}-${SPAN}-01`],
    Symbol('ambiguous'),
    `00-${TRACE}-${SPAN}-00`,
    `00-${TRACE}-${SPAN}-02`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `01-${TRACE}-${SPAN}-01more`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE.slice(1)}"-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-1`,
    '-'.repeat(8_000),
  ])
    t.equal(sampledTraceId(value), undefined, String(value).slice(0, 80))
})
