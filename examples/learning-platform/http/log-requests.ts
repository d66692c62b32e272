import type { FastifyInstance } from 'fastify'

/**
 * Logs one line per request, with caller, client and scopes. Writes have the level info, and reads have the level
 * debug.
 */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { subject, clientId, scopes } = request.caller ?? {}
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    request.log[isRead ? 'debug' : 'info'](
      { method: request.method, path: request.url, status: reply.statusCode, subject, clientId, scopes },
      'request',
    )
  })
}
