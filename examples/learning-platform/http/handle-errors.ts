import type { FastifyError, FastifyInstance } from 'fastify'
import { explainError } from './explain-error.ts'
import type { Problem } from './problem.ts'
import { sendProblem } from './send-problem.ts'

const NOTHING_HERE: Problem = { code: 'not_found', description: 'The demo API does not have this path.' }

/** Also logs errors of the service itself. */
export function handleErrors(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-cache' })
    // Responds before the service reads the body, because the response to an unknown path does not depend on the body.
    return request.is404 ? sendProblem(reply, NOTHING_HERE) : undefined
  })
  app.setNotFoundHandler((_request, reply) => {
    sendProblem(reply, NOTHING_HERE)
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = explainError(error)
    if (problem.code === 'server_error' || problem.code === 'temporarily_unavailable')
      request.log.error(error)
    return sendProblem(reply, problem)
  })
}
