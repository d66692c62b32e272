import { type SpanContext, type SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type { Span, SpanAttributes } from './tracing.ts'

/** A span in the form that the exporter serializes. */
export type ReadableSpan = Parameters<OTLPTraceExporter['export']>[0][number]

/** The values that all spans of a process share. */
export type SpanOwner = Pick<ReadableSpan, 'resource' | 'instrumentationScope'> & {
  onEnd(span: ReadableSpan): void
}

const UNSET = { code: SpanStatusCode.UNSET }
const ERROR = { code: SpanStatusCode.ERROR }
const NOTHING: never[] = []

/**
 * A span of a trace that is recorded. The class contains only the data of this program, because the span of the
 * OpenTelemetry SDK costs several times the CPU time.
 */
export class RecordedSpan implements Span, ReadableSpan {
  name: string
  attributes: SpanAttributes
  status: ReadableSpan['status'] = UNSET
  readonly kind: SpanKind
  readonly parentSpanContext?: SpanContext
  readonly #context: SpanContext
  readonly #owner: SpanOwner
  readonly #startTimeMs = Date.now()
  readonly #startTickMs = performance.now()
  /** Negative until the span ends. */
  #durationMs = -1

  /** @param parent undefined: the span is the first span of its trace. */
  constructor(
    owner: SpanOwner,
    context: SpanContext,
    {
      name,
      kind,
      parent,
      attributes = {},
    }: {
      readonly name: string
      readonly kind: SpanKind
      readonly parent: SpanContext | undefined
      readonly attributes?: SpanAttributes
    },
  ) {
    this.#owner = owner
    this.#context = context
    this.name = name
    this.kind = kind
    if (parent !== undefined) this.parentSpanContext = parent
    this.attributes = attributes
  }

  spanContext(): SpanContext {
    return this.#context
  }

  isRecording(): boolean {
    return this.#durationMs < 0
  }

  updateName(name: string): void {
    this.name = name
  }

  setAttributes(attributes: SpanAttributes): void {
    this.attributes = { ...this.attributes, ...attributes }
  }

  fail(): void {
    this.status = ERROR
  }

  end(): void {
    if (!this.isRecording()) return
    this.#durationMs = performance.now() - this.#startTickMs
    this.#owner.onEnd(this)
  }

  get startTime() {
    return toHrTime(this.#startTimeMs)
  }
  get endTime() {
    return toHrTime(this.#startTimeMs + this.#durationMs)
  }
  get duration() {
    return toHrTime(this.#durationMs)
  }
  get ended() {
    return !this.isRecording()
  }
  get resource() {
    return this.#owner.resource
  }
  get instrumentationScope() {
    return this.#owner.instrumentationScope
  }
  get links() {
    return NOTHING
  }
  get events() {
    return NOTHING
  }
  get droppedAttributesCount() {
    return 0
  }
  get droppedEventsCount() {
    return 0
  }
  get droppedLinksCount() {
    return 0
  }
}

/** The span of a trace that is not recorded. It only carries the context of the trace. */
export class UnrecordedSpan implements Span {
  readonly #context: SpanContext

  constructor(context: SpanContext) {
    this.#context = context
  }

  spanContext(): SpanContext {
    return this.#context
  }

  isRecording(): boolean {
    return false
  }

  updateName(): void {}
  setAttributes(): void {}
  fail(): void {}
  end(): void {}
}

/** Returns seconds and nanoseconds. */
function toHrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000)
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)]
}
