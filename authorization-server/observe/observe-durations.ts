import type { FastifyInstance, FastifyRequest } from 'fastify'
import { REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { sampledTraceId } from '../../platform/tracing/traceparent.ts'
import type { Span } from '../../platform/tracing/tracing.ts'
import type { Metrics } from './metrics.ts'
import { endpointName } from './trace-requests.ts'

/**
 * Observes the duration of each request on the routes that `app` gets after this call. The revocation stream has no
 * duration, because the stream stays open.
 * @param spanOf returns the span of a request. Undefined without tracing.
 */
export function observeDurations(
  app: FastifyInstance,
  metrics: Pick<Metrics, 'observeRequest'>,
  spanOf: (request: FastifyRequest) => Span | undefined,
): void {
  app.addHook('onResponse', (request, reply, done) => {
    if (request.routeOptions.url !== REVOCATION_STREAM_PATH)
      metrics.observeRequest(endpointName(request), {
        status: reply.statusCode,
        seconds: reply.elapsedTime / 1_000,
        traceId: exemplarTraceId(request, spanOf(request)),
      })
    done()
  })
}

/** Returns the trace ID of a sampled trace. Without tracing, the sender decides about the trace. */
function exemplarTraceId(request: FastifyRequest, span: Span | undefined): string | undefined {
  if (span === undefined) return sampledTraceId(request.headers['traceparent'])
  return span.isSampled ? span.traceId : undefined
}
