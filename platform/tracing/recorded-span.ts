import { type SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { Span, SpanAttributes, TraceContext } from './tracing.ts'

/** Receives the spans of a process when they end. */
export type SpanOwner = { onEnd(span: RecordedSpan): void }

/** The parent of a span. `isRemote`: the parent is a span of another process. */
export type SpanParent = { readonly spanId: string; readonly isRemote: boolean }

const NO_ATTRIBUTES: SpanAttributes = {}

/**
 * A span of a trace that is recorded. The class contains only the data of this program, because the span of the
 * OpenTelemetry SDK costs several times the CPU time.
 */
export class RecordedSpan implements Span {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled = true
  readonly traceState: string
  name: string
  attributes: SpanAttributes
  statusCode: SpanStatusCode = SpanStatusCode.UNSET
  readonly kind: SpanKind
  readonly parent: SpanParent | undefined
  readonly startTimeMs = Date.now()
  readonly #owner: SpanOwner
  readonly #startTickMs = performance.now()
  /** Negative until the span ends. */
  #durationMs = -1

  /** @param parent undefined: the span is the first span of its trace. */
  constructor(
    owner: SpanOwner,
    { traceId, spanId, traceState }: Omit<TraceContext, 'isSampled'>,
    {
      name,
      kind,
      parent,
      attributes = NO_ATTRIBUTES,
    }: {
      readonly name: string
      readonly kind: SpanKind
      readonly parent: SpanParent | undefined
      readonly attributes?: SpanAttributes
    },
  ) {
    this.#owner = owner
    this.traceId = traceId
    this.spanId = spanId
    this.traceState = traceState
    this.name = name
    this.kind = kind
    this.parent = parent
    this.attributes = attributes
  }

  isRecording(): boolean {
    return this.#durationMs < 0
  }

  updateName(name: string): void {
    this.name = name
  }

  setAttributes(attributes: SpanAttributes): void {
    // A server span gets all its attributes at once, so most calls need no copy.
    this.attributes = this.attributes === NO_ATTRIBUTES ? attributes : { ...this.attributes, ...attributes }
  }

  fail(): void {
    this.statusCode = SpanStatusCode.ERROR
  }

  end(): void {
    if (!this.isRecording()) return
    this.#durationMs = performance.now() - this.#startTickMs
    this.#owner.onEnd(this)
  }

  get durationMs(): number {
    return this.#durationMs
  }
}

/** The span of a trace that is not recorded. It only carries the context of the trace. */
export class UnrecordedSpan implements Span {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled = false
  readonly traceState: string

  constructor({ traceId, spanId, traceState }: Omit<TraceContext, 'isSampled'>) {
    this.traceId = traceId
    this.spanId = spanId
    this.traceState = traceState
  }

  isRecording(): boolean {
    return false
  }

  updateName(): void {}
  setAttributes(): void {}
  fail(): void {}
  end(): void {}
}
