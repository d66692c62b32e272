import type { FastifyInstance, FastifyRequest } from 'fastify'
import { REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { methodLabel, spanMethod } from '../../platform/http-labels.ts'
import type { Span, Tracing } from '../../platform/tracing/tracing.ts'
import type { TraceTrust } from '../../platform/tracing/tracing-schema.ts'
import { ENGINE_ENDPOINTS, USERINFO_ENDPOINT } from '../endpoints/endpoint-table.ts'

const NAMES: ReadonlyMap<string, string> = new Map(
  [...ENGINE_ENDPOINTS, USERINFO_ENDPOINT].map(({ path, name }) => [path, name]),
)

/** Returns the name of an endpoint in metrics and spans. The name of a page is the path of its route. */
export function endpointName(request: FastifyRequest): string {
  const path = request.routeOptions.url ?? '-'
  return NAMES.get(path) ?? path
}

/**
 * Records each request in a server span, on the routes that `app` gets after this call. The revocation stream has no
 * span, because the stream stays open.
 * @returns a function that returns the span of a request.
 */
export function traceRequests(
  app: FastifyInstance,
  tracing: Tracing | undefined,
  trustIncoming: TraceTrust,
): (request: FastifyRequest) => Span | undefined {
  if (tracing === undefined) return () => undefined
  const spans = new WeakMap<FastifyRequest, Span>()
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.url !== REVOCATION_STREAM_PATH) {
      const name = `${spanMethod(methodLabel(request.method))} ${endpointName(request)}`
      spans.set(
        request,
        tracing.startServerSpan(name, trustIncoming === 'never' ? undefined : request.headers),
      )
    }
    done()
  })
  // After the server has read the body, because events of the body do not run in the context of the request.
  app.addHook('preHandler', (request, _reply, done) => {
    const span = spans.get(request)
    if (span === undefined) done()
    else tracing.run(span, done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request)
    if (span !== undefined) {
      const { statusCode } = reply
      const { url } = request.routeOptions
      const method = methodLabel(request.method)
      span.setAttributes({
        'http.request.method': method,
        'http.response.status_code': statusCode,
        'scopegate.endpoint': endpointName(request),
        'scopegate.request_id': request.id,
        ...(method === request.method ? {} : { 'http.request.method_original': request.method }),
        ...(url === undefined ? {} : { 'http.route': url }),
      })
      if (statusCode >= 500) span.fail()
      span.end()
    }
    done()
  })
  return (request) => spans.get(request)
}
