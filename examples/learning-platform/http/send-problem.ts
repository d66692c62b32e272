import type { FastifyReply } from 'fastify'
import { PROBLEM_STATUS, type Problem } from './problem.ts'

/** The response contains `error`, `error_description` and `request_id` as JSON. */
export function sendProblem(reply: FastifyReply, { code, description }: Problem): FastifyReply {
  if (code === 'temporarily_unavailable') reply.header('retry-after', '1')
  // RFC 9110 section 15.5.2: a 401 response needs a challenge.
  if (code === 'invalid_assertion') reply.header('www-authenticate', 'x-auth-assertion')
  return reply
    .code(PROBLEM_STATUS[code])
    .type('application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send({ error: code, error_description: description, request_id: reply.request.id })
}
