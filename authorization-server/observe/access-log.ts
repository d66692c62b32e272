import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from '../../platform/logging/logger.ts'

/** OAuth data of a request that the path and the status do not show. */
export type RequestOutcome = {
  /** Error code of the response. Undefined: the response has no OAuth error code. */
  readonly error?: string | undefined
  /** The client that the server identified. */
  readonly clientId?: string | undefined
}

/** Status of a request whose client closed the connection before the response. The server never sends this status. */
const CLIENT_CLOSED_STATUS = 499
const outcomes = new WeakMap<object, RequestOutcome>()

/** Adds OAuth data to the access line of a request. */
export function recordOutcome({ raw }: Pick<FastifyRequest, 'raw'>, outcome: RequestOutcome): void {
  outcomes.set(raw, { ...outcomes.get(raw), ...outcome })
}

/**
 * Writes an access line at the end of each response, on the routes that `app` gets after this call. Call this function
 * before other hooks, because a hook can end a request. The access log of the gateway has the same field names. The
 * line of the revocation stream follows at the end of the stream.
 */
export function logRequests(app: FastifyInstance, logger: Pick<Logger, 'info' | 'isLevelEnabled'>): void {
  app.addHook('onRequest', (request, reply, done) => {
    const startedMs = performance.now()
    const { raw: response } = reply
    response.once('close', () => {
      if (!logger.isLevelEnabled('info')) return
      const outcome = outcomes.get(request.raw)
      logger.info({
        event: 'access',
        request_id: request.id,
        'http.request.method': request.method,
        'url.path': printablePath(request.raw.url ?? ''),
        'http.route': request.routeOptions.url,
        'http.response.status_code': response.headersSent ? response.statusCode : CLIENT_CLOSED_STATUS,
        duration_ms: Math.round((performance.now() - startedMs) * 1_000) / 1_000,
        'client.address': request.ip,
        'auth.client_id': outcome?.clientId,
        'error.type': outcome?.error ?? (response.writableFinished ? undefined : 'client_closed'),
      })
    })
    done()
  })
}

/** Removes the query, and percent-encodes bytes that are not printable ASCII. */
function printablePath(target: string): string {
  const [path = ''] = target.split('?', 1)
  return path.replace(
    /[^\x21-\x7e]/g,
    (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
  )
}
