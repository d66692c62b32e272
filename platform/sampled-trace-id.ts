const TRACEPARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]([0-9a-f])(?:$|-)/
const SAMPLED_FLAG = 1

/**
 * Returns the trace ID of a `traceparent` header if the sender sampled the trace. Returns undefined for an invalid
 * header, and for a header that occurs more than once. Source: W3C Trace Context, section 3.2.
 */
export function sampledTraceId(traceparent: unknown): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, traceId, flags = '0'] = TRACEPARENT.exec(traceparent) ?? []
  return (Number.parseInt(flags, 16) & SAMPLED_FLAG) === 0 ? undefined : traceId
}
