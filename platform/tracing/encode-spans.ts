import type { Resource } from '@opentelemetry/resources'
import type { RecordedSpan } from './recorded-span.ts'

/** The origin of all spans of a process. */
export type SpanSource = {
  readonly resource: Resource
  readonly scope: { readonly name: string; readonly version: string }
}

// The tags of the protobuf fields: number * 8 + wire type. Source: opentelemetry/proto/trace/v1/trace.proto and
// opentelemetry/proto/common/v1/common.proto.
const TRACE_ID = 0x0a
const SPAN_ID = 0x12
const TRACE_STATE = 0x1a
const PARENT_SPAN_ID = 0x22
const NAME = 0x2a
const KIND = 0x30
const START_TIME = 0x39
const END_TIME = 0x41
const SPAN_ATTRIBUTE = 0x4a
const STATUS = 0x7a
const STATUS_CODE = 0x18
/** Field 16, whose tag has two bytes. */
const FLAGS = 0x8501
const RESOURCE_ATTRIBUTE = 0x0a
const FIRST_MESSAGE = 0x0a
const SECOND_MESSAGE = 0x12
const KEY = 0x0a
const VALUE = 0x12
const TEXT_VALUE = 0x0a
const INTEGER_VALUE = 0x18

/** Maximum size of the fields of a span or of an attribute that are not texts. */
const OVERHEAD_BYTES = 256
/** Up to this length, a loop is faster than a call of a function of Node.js. */
const SHORT_TEXT = 48
const START_BYTES = 256 * 1024
/** Two bytes hold the length of a message of 128 to 16,383 bytes, which is the usual length of a span. */
const USUAL_LENGTH_BYTES = 2
const NANOS_PER_MS = 1_000_000
const TWO_TO_32 = 2 ** 32
const IS_SAMPLED = 0x001
const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200

/**
 * Encodes spans as the `ExportTraceServiceRequest` of OTLP (protobuf). The serializer of OpenTelemetry needs about three
 * times the CPU time or more, because it processes all spans twice.
 */
export type SpanEncoder = {
  /** Encodes a span. The encoder keeps only the bytes, so the garbage collector can free the span. */
  add(span: RecordedSpan): void
  /** Returns a request with the spans since the last call. */
  take(): Buffer
}

export function createSpanEncoder({ resource, scope }: SpanSource): SpanEncoder {
  const out = new Output()
  for (const [key, value] of Object.entries(resource.attributes))
    if (typeof value === 'string' || typeof value === 'number') out.attribute(RESOURCE_ATTRIBUTE, key, value)
  const resourceField = message(FIRST_MESSAGE, out.take())
  out.text(FIRST_MESSAGE, scope.name)
  out.text(SECOND_MESSAGE, scope.version)
  const scopeField = message(FIRST_MESSAGE, out.take())
  return {
    add: (span) => encodeSpan(out, span),
    take() {
      const scopeSpans = message(SECOND_MESSAGE, Buffer.concat([scopeField, out.take()]))
      return message(FIRST_MESSAGE, Buffer.concat([resourceField, scopeSpans]))
    },
  }
}

function encodeSpan(out: Output, span: RecordedSpan): void {
  const { traceId, spanId, traceState, name, kind, attributes, parent } = span
  const start = out.startMessage(SECOND_MESSAGE)
  out.hex(TRACE_ID, traceId)
  out.hex(SPAN_ID, spanId)
  if (traceState !== '') out.text(TRACE_STATE, traceState)
  if (parent !== undefined) out.hex(PARENT_SPAN_ID, parent.spanId)
  out.text(NAME, name)
  out.byte(KIND)
  out.byte(kind + 1)
  out.time(START_TIME, span.startTimeMs)
  out.time(END_TIME, span.startTimeMs + span.durationMs)
  for (const key in attributes) out.attribute(SPAN_ATTRIBUTE, key, attributes[key] ?? '')
  out.byte(STATUS)
  out.byte(2)
  out.byte(STATUS_CODE)
  out.byte(span.statusCode)
  out.flags(IS_SAMPLED | HAS_IS_REMOTE | (parent?.isRemote === true ? IS_REMOTE : 0))
  out.endMessage(start)
}

/** Encodes a field with a nested message. */
function message(tag: number, bytes: Buffer): Buffer {
  const head = new Output(16)
  head.byte(tag)
  head.varint(bytes.length)
  return Buffer.concat([head.take(), bytes])
}

/** A growing buffer with the fields of a message. */
class Output {
  #bytes: Buffer
  #at = 0
  /** The encoded fields of the keys of attributes. The program uses about 30 keys. */
  readonly #keys = new Map<string, Buffer>()

  constructor(startBytes = START_BYTES) {
    this.#bytes = Buffer.allocUnsafe(startBytes)
  }

  /** Returns a copy of the bytes, and starts again. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#at))
    this.#at = 0
    return taken
  }

  byte(value: number): void {
    this.#bytes[this.#at++] = value
  }

  varint(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#at++] = rest
  }

  text(tag: number, text: string): void {
    const bytes = byteLength(text)
    this.#reserve(bytes)
    this.byte(tag)
    this.varint(bytes)
    this.#characters(text, bytes)
  }

  hex(tag: number, digits: string): void {
    this.byte(tag)
    this.byte(digits.length / 2)
    this.#at += this.#bytes.write(digits, this.#at, 'hex')
  }

  /** Writes a time in nanoseconds. A double cannot hold the nanoseconds since 1970, so the function adds two halves. */
  time(tag: number, ms: number): void {
    this.byte(tag)
    const whole = Math.floor(ms)
    const highMs = Math.floor(whole / 0x1_0000)
    const high = highMs * NANOS_PER_MS // in units of 2 ** 16 ns
    const low =
      (high % 0x1_0000) * 0x1_0000 +
      (whole % 0x1_0000) * NANOS_PER_MS +
      Math.round((ms - whole) * NANOS_PER_MS)
    this.#at = this.#bytes.writeUInt32LE(low % TWO_TO_32, this.#at)
    this.#at = this.#bytes.writeUInt32LE(Math.floor(high / 0x1_0000) + Math.floor(low / TWO_TO_32), this.#at)
  }

  flags(flags: number): void {
    this.#at = this.#bytes.writeUInt16BE(FLAGS, this.#at)
    this.#at = this.#bytes.writeUInt32LE(flags, this.#at)
  }

  /** @param value a text, or an integer that is not negative. */
  attribute(tag: number, key: string, value: string | number): void {
    const keyField = this.#keyField(key)
    const isText = typeof value === 'string'
    const bytes = isText ? byteLength(value) : 0
    const valueBytes = isText ? 1 + varintBytes(bytes) + bytes : 1 + varintBytes(value)
    this.#reserve(keyField.length + bytes)
    this.byte(tag)
    this.varint(keyField.length + 1 + varintBytes(valueBytes) + valueBytes)
    this.#bytes.set(keyField, this.#at)
    this.#at += keyField.length
    this.byte(VALUE)
    this.varint(valueBytes)
    this.byte(isText ? TEXT_VALUE : INTEGER_VALUE)
    if (isText) {
      this.varint(bytes)
      this.#characters(value, bytes)
    } else this.varint(value)
  }

  /** @returns the start of the message, for `endMessage()`. */
  startMessage(tag: number): number {
    this.#reserve(0)
    this.byte(tag)
    this.#at += USUAL_LENGTH_BYTES
    return this.#at
  }

  endMessage(start: number): void {
    this.#reserve(0)
    const length = this.#at - start
    const shift = varintBytes(length) - USUAL_LENGTH_BYTES
    if (shift !== 0) this.#bytes.copyWithin(start + shift, start, this.#at)
    this.#at = start - USUAL_LENGTH_BYTES
    this.varint(length)
    this.#at += length
  }

  #keyField(key: string): Buffer {
    let field = this.#keys.get(key)
    if (field === undefined) {
      field = message(KEY, Buffer.from(key))
      this.#keys.set(key, field)
    }
    return field
  }

  #characters(text: string, bytes: number): void {
    if (text.length > SHORT_TEXT || bytes !== text.length) this.#bytes.write(text, this.#at)
    else for (let at = 0; at < bytes; at += 1) this.#bytes[this.#at + at] = text.charCodeAt(at)
    this.#at += bytes
  }

  /** Makes room for `bytes` bytes of texts, and for `OVERHEAD_BYTES`. */
  #reserve(bytes: number): void {
    if (this.#at + bytes + OVERHEAD_BYTES <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * this.#bytes.length + bytes)
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

/** Returns the number of bytes in UTF-8. */
function byteLength(text: string): number {
  if (text.length > SHORT_TEXT) return Buffer.byteLength(text)
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) >= 0x80) return Buffer.byteLength(text)
  return text.length
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1
  return bytes
}
