import { METHODS } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { sendProblem } from '../http/send-problem.ts'

/** CONNECT never reaches a route: Node hands it to the proxy handler that this service does not have. */
const METHODS_WITH_ROUTES = METHODS.filter((method) => method !== 'CONNECT')

/** Lets the router know every method there is, so that it can answer 405 instead of 404. */
export function allowEveryMethod(app: FastifyInstance): void {
  for (const method of METHODS_WITH_ROUTES)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
}

/** Answers 405 with Allow for every method that a path does not have. Source: RFC 9110 section 15.5.6. */
export function addMethodNotAllowed(
  app: FastifyInstance,
  methodsByPath: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const [url, methods] of methodsByPath) {
    const allow = [...methods].sort().join(', ')
    app.route({
      url,
      method: METHODS_WITH_ROUTES.filter((method) => !methods.has(method)),
      // Before the body is looked at: what it holds does not matter.
      onRequest: async (_request, reply) =>
        sendProblem(reply.header('allow', allow), {
          code: 'method_not_allowed',
          description: `This address knows ${allow}.`,
        }),
      handler: async () => undefined,
    })
  }
}
