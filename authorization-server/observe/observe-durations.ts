import type { FastifyInstance } from 'fastify'
import { REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { sampledTraceId } from '../../platform/tracing/traceparent.ts'
import { ENGINE_ENDPOINTS, USERINFO_ENDPOINT } from '../endpoints/endpoint-table.ts'
import type { Metrics } from './metrics.ts'

const NAMES: ReadonlyMap<string, string> = new Map(
  [...ENGINE_ENDPOINTS, USERINFO_ENDPOINT].map(({ path, name }) => [path, name]),
)

/**
 * Observes the duration of each request on the routes that `app` gets after this call. The endpoint of a page is the
 * path of its route. The revocation stream has no duration, because the stream stays open.
 */
export function observeDurations(app: FastifyInstance, metrics: Pick<Metrics, 'observeRequest'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    const path = request.routeOptions.url ?? '-'
    if (path !== REVOCATION_STREAM_PATH)
      metrics.observeRequest(NAMES.get(path) ?? path, {
        status: reply.statusCode,
        seconds: reply.elapsedTime / 1_000,
        traceId: sampledTraceId(request.headers['traceparent']),
      })
    done()
  })
}
