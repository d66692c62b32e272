import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { sendProblem } from '../http/send-problem.ts'

/** CONNECT never reaches a route, because Node.js passes it to a proxy handler. This service has no proxy handler. */
const METHODS_WITH_ROUTES = METHODS.filter((method) => method !== 'CONNECT')

/** Registers all methods in the router, so that the router can respond with 405 instead of 404. */
export function allowEveryMethod(app: FastifyInstance): void {
  for (const method of METHODS_WITH_ROUTES)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
}

/** Responds with 405 and Allow to every method that a path does not support. Source: RFC 9110 section 15.5.6. */
export function addMethodNotAllowed(
  app: FastifyInstance,
  methodsByPath: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const [url, methods] of methodsByPath) {
    const allow = [...methods].sort().join(', ')
    app.route({
      url,
      method: METHODS_WITH_ROUTES.filter((method) => !methods.has(method)),
      // Responds before the service reads the body, because a 405 response does not depend on the body.
      onRequest: async (_request, reply) =>
        sendProblem(reply.header('allow', allow), {
          code: 'method_not_allowed',
          description: `Allowed: ${allow}.`,
        }),
      handler: async () => undefined,
    })
  }
}
