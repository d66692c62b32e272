import type { IncomingHttpHeaders } from 'node:http'
import type { TraceParent } from './traceparent.ts'

export type SpanAttributes = Readonly<Record<string, string | number>>

/** The IDs of a span, and whether the trace is recorded. */
export type TraceContext = TraceParent & {
  /** Value of the header `tracestate`. Empty: the sender is not trusted, or sent no valid state. */
  readonly traceState: string
}

/** A span of a request or of a call. The span of a trace that is not recorded only has a context. */
export type Span = TraceContext & {
  /** Returns whether the trace is recorded and the span has not ended. */
  isRecording(): boolean
  updateName(name: string): void
  setAttributes(attributes: SpanAttributes): void
  /** Sets the status to error. */
  fail(): void
  end(): void
}

/** Creates and exports the spans of one process. Undefined wherever tracing is not configured. */
export type Tracing = {
  /**
   * Starts the server span of a request.
   * @param headers headers with the trace context of the sender. Undefined: the sender is not trusted, and the span
   * starts a new trace.
   */
  startServerSpan(name: string, headers: IncomingHttpHeaders | undefined): Span
  /** @param parent a span of a trace that is recorded. */
  startClientSpan(name: string, parent: Span, attributes: SpanAttributes): Span
  /** Runs `call` so that `current()` returns `span` in `call` and in the promises that `call` starts. */
  run<T>(span: Span, call: () => T): T
  /** Returns the recorded span of the current asynchronous context, until the span ends. */
  current(): Span | undefined
  /** Runs `call` in a client span below the current span. Without a current span, only runs `call`. */
  observe<T>(name: string, attributes: SpanAttributes, call: () => Promise<T>): Promise<T>
  /** Exports the queued spans, for at most `CLOSE_TIMEOUT_MS`. */
  close(): Promise<void>
}

/** Records the failure of a call in its span. The span gets the code or the class of the error, never the message. */
export function failSpan(span: Span, error: unknown): void {
  span.fail()
  span.setAttributes({ 'error.type': errorType(error) })
}

/** Returns the code or the class of an error. The message can contain data of a request. */
function errorType(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Error ? error.name : 'unknown'
}

/** Trace IDs of a request, as log fields. */
export function traceFields(span: Span | undefined): { trace_id: string; span_id: string } | undefined {
  if (span === undefined) return undefined
  return { trace_id: span.traceId, span_id: span.spanId }
}

/**
 * Appends the headers that carry the context of `span` to the next service: name, value, name, value.
 * @returns `headers`.
 */
export function addTraceHeaders(headers: string[], span: TraceContext): string[] {
  const { traceId, spanId, isSampled, traceState } = span
  headers.push('traceparent', `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`)
  if (traceState !== '') headers.push('tracestate', traceState)
  return headers
}
