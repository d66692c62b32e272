import { methodLabel, spanMethod } from '../../platform/http-labels.ts'
import { addTraceHeaders, type Span, type Tracing } from '../../platform/tracing/tracing.ts'
import { tokenKind } from '../tokens/cache/token-kind.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Runs `call` so that its commands to an issuer or a store get spans below the server span of a recorded request. Only
 * calls that can send such a command need this function: the asynchronous context costs more than the other parts of a
 * span.
 */
export function traced<T>({ span, services }: RequestContext, call: () => T): T {
  const { tracing } = services
  return span?.isRecording() === true && tracing !== undefined ? tracing.run(span, call) : call()
}

/**
 * Starts the client span of a forwarded request. One span covers all attempts. A request that is not recorded gets no
 * client span, because the span would only cost time.
 * @param upstreamHeaders the function changes this list.
 * @returns `upstreamHeaders` with the trace context of the client span, or of the server span of a request that is not
 * recorded, instead of the trace context of the client.
 */
export function startUpstreamSpan(
  context: RequestContext,
  { tracing, span, upstream }: { readonly tracing: Tracing; readonly span: Span; readonly upstream: string },
  upstreamHeaders: string[],
): string[] {
  if (span.isRecording()) {
    const method = methodLabel(context.method)
    context.upstreamSpan = tracing.startClientSpan(`${spanMethod(method)} ${upstream}`, span, {
      'http.request.method': method,
      'scopegate.upstream': upstream,
    })
  }
  const headers = hasTraceHeader(upstreamHeaders) ? withoutTraceHeaders(upstreamHeaders) : upstreamHeaders
  return addTraceHeaders(headers, context.upstreamSpan ?? span)
}

function hasTraceHeader(headers: readonly string[]): boolean {
  for (let at = 0; at < headers.length; at += 2) if (isTraceHeader(headers[at] ?? '')) return true
  return false
}

function withoutTraceHeaders(headers: readonly string[]): string[] {
  return headers.filter((_, at) => !isTraceHeader(headers[at - (at % 2)] ?? ''))
}

function isTraceHeader(name: string): boolean {
  // The comparisons spare a lower-case copy of each name.
  if (name.length !== 11 && name.length !== 10) return false
  if ((name.charCodeAt(0) | 0x20) !== 0x74) return false
  return TRACE_HEADERS.has(name.toLowerCase())
}

const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/** Sets the final attributes of both spans of a recorded request, and ends the spans. */
export function endRequestSpans(
  context: RequestContext,
  span: Span,
  { status, errorType }: { readonly status: number; readonly errorType: string | undefined },
): void {
  if (!span.isRecording()) return
  endUpstreamSpan(context)
  const { route, decision, token, canonical, requestId } = context
  const method = methodLabel(context.method)
  span.updateName(route === undefined ? spanMethod(method) : `${spanMethod(method)} ${route.path}`)
  const attributes: Record<string, string | number> = {
    'http.request.method': method,
    'http.response.status_code': status,
    'scopegate.request_id': requestId,
  }
  if (method !== context.method) attributes['http.request.method_original'] = context.method
  if (canonical !== undefined) attributes['url.path'] = canonical.path
  if (route !== undefined) {
    attributes['http.route'] = route.path
    attributes['scopegate.route'] = route.name
  }
  if (route?.kind === 'api') attributes['scopegate.policy'] = route.policy.policy
  if (decision !== undefined) {
    attributes['scopegate.decision'] = decision.decision
    attributes['scopegate.reason'] = decision.reason
  }
  if (token !== undefined) attributes['scopegate.token.kind'] = tokenKind(token)
  if (errorType !== undefined) attributes['error.type'] = errorType
  span.setAttributes(attributes)
  if (status >= 500) span.fail()
  span.end()
}

function endUpstreamSpan({ upstreamSpan, forwarded }: RequestContext): void {
  if (upstreamSpan === undefined) return
  const { status = 0, failure } = forwarded ?? {}
  if (status !== 0) upstreamSpan.setAttributes({ 'http.response.status_code': status })
  if (failure !== undefined) upstreamSpan.setAttributes({ 'error.type': failure })
  if (failure !== undefined || status >= 400) upstreamSpan.fail()
  upstreamSpan.end()
}
