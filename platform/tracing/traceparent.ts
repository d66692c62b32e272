const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]([0-9a-f])(?:$|-)/
const SAMPLED_FLAG = 1

export type TraceParent = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean }

/**
 * Parses a `traceparent` header. Returns undefined for an invalid header, and for a header that occurs more than once.
 * Source: W3C Trace Context, section 3.2.
 */
export function parseTraceparent(traceparent: unknown): TraceParent | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, traceId, spanId, flags = '0'] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED_FLAG) !== 0 }
}

/** Returns the trace ID of a valid `traceparent` header if the sender sampled the trace. */
export function sampledTraceId(traceparent: unknown): string | undefined {
  const parent = parseTraceparent(traceparent)
  return parent?.isSampled === true ? parent.traceId : undefined
}
