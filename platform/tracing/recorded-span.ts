import { type SpanContext, type SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { Span, SpanAttributes } from './tracing.ts'

/** Receives the spans of a process when they end. */
export type SpanOwner = { onEnd(span: RecordedSpan): void }

/**
 * A span of a trace that is recorded. The class contains only the data of this program, because the span of the
 * OpenTelemetry SDK costs several times the CPU time.
 */
export class RecordedSpan implements Span {
  name: string
  attributes: SpanAttributes
  statusCode: SpanStatusCode = SpanStatusCode.UNSET
  readonly kind: SpanKind
  readonly parent: SpanContext | undefined
  readonly startTimeMs = Date.now()
  readonly #context: SpanContext
  readonly #owner: SpanOwner
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
    this.parent = parent
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
