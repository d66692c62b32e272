import { createRequire } from 'node:module'
import { createTraceState, SpanKind } from '@opentelemetry/api'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import t from 'tap'
import { createSpanEncoder, type SpanEncoder } from '../../../platform/tracing/encode-spans.ts'
import { RecordedSpan } from '../../../platform/tracing/recorded-span.ts'

/** The fields of opentelemetry/proto/trace/v1/trace.proto that the serializer of OpenTelemetry writes. */
const PROTO = `
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message Scope { string name = 1; string version = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10; uint32 dropped_events_count = 12;
  uint32 dropped_links_count = 14; Status status = 15; fixed32 flags = 16;
}
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; Value value = 2; }
message Value { oneof value { string text = 1; int64 integer = 3; } }
`
const protobuf = createRequire(import.meta.url)('protobufjs')
const Request = protobuf.parse(PROTO).root.lookupType('Request')
const decode = (bytes: Uint8Array) =>
  Request.toObject(Request.decode(bytes), { longs: String, bytes: String, defaults: true })

const SCOPE = { name: 'scopegate', version: '1.2.3' }
const RESOURCE = resourceFromAttributes({ 'service.name': 'gateway', 'process.pid': 4_194_304 })
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const PARENT = { spanId: 'b7ad6b7169203331', isRemote: false }

/** Returns the span in the form that the serializer of OpenTelemetry expects. */
function toReadable(span: RecordedSpan) {
  const hrTime = (ms: number): [number, number] => [
    Math.floor(ms / 1_000),
    (Math.floor(ms) % 1_000) * 1_000_000 + Math.round((ms - Math.floor(ms)) * 1_000_000),
  ]
  const { traceId, spanId, traceState, name, kind, attributes, parent, startTimeMs, durationMs, statusCode } =
    span
  return {
    ...{ name, kind, attributes, resource: RESOURCE, instrumentationScope: SCOPE },
    ...(parent === undefined ? {} : { parentSpanContext: { ...parent, traceId, traceFlags: 1 } }),
    spanContext: () => ({ traceId, spanId, traceFlags: 1, traceState: createTraceState(traceState) }),
    startTime: hrTime(startTimeMs),
    endTime: hrTime(startTimeMs + durationMs),
    duration: hrTime(durationMs),
    status: { code: statusCode },
    ...{ ended: true, events: [], links: [] },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  }
}

function endedSpans(): RecordedSpan[] {
  const spans: RecordedSpan[] = []
  const owner = { onEnd: (span: RecordedSpan) => void spans.push(span) }
  const context = { traceId: TRACE_ID, spanId: '00f067aa0ba902b7', traceState: '' }
  const server = { name: 'HTTP', kind: SpanKind.SERVER }
  const open = [
    new RecordedSpan(owner, context, { ...server, parent: undefined }),
    new RecordedSpan(
      owner,
      { ...context, traceState: 'vendor=kept,other=1' },
      { ...server, parent: { ...PARENT, isRemote: true } },
    ),
    new RecordedSpan(owner, context, {
      ...{ name: 'GET api', kind: SpanKind.CLIENT, parent: PARENT },
      attributes: { 'http.response.status_code': 200, large: 4_294_967_296, zero: 0 },
    }),
    // Texts with more bytes than characters, and a text that makes the span longer than 16,383 bytes.
    new RecordedSpan(owner, context, {
      ...{ ...server, parent: undefined },
      attributes: {
        'url.path': `/${'ü€😀'.repeat(20)}`,
        short: 'ü€😀',
        'http.route': 'x'.repeat(20_000),
        empty: '',
      },
    }),
  ]
  open[2]?.fail()
  for (const span of open) span.end()
  return spans
}

function encodeAll({ add, take }: SpanEncoder): (spans: readonly RecordedSpan[]) => Buffer {
  return (spans) => {
    for (const span of spans) add(span)
    return take()
  }
}

t.test('the encoder and the serializer of OpenTelemetry write the same spans', async (t) => {
  const encode = encodeAll(createSpanEncoder({ resource: RESOURCE, scope: SCOPE }))
  const spans = endedSpans()
  const expected = decode(ProtobufTraceSerializer.serializeRequest(spans.map(toReadable)) ?? Buffer.of())
  t.equal(expected.resourceSpans[0].scopeSpans[0].spans.length, 4)
  t.strictSame(decode(encode(spans)), expected)
  t.strictSame(decode(encode(spans)), expected, 'also in the next export')
})

t.test('the encoder writes more bytes than its first buffer holds', async (t) => {
  const encode = encodeAll(createSpanEncoder({ resource: RESOURCE, scope: SCOPE }))
  const spans = Array.from({ length: 30 }, endedSpans).flat()
  const expected = decode(ProtobufTraceSerializer.serializeRequest(spans.map(toReadable)) ?? Buffer.of())
  t.strictSame(decode(encode(spans)), expected)
})
