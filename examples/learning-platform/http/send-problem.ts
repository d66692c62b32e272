import type { FastifyReply } from 'fastify'
import { PROBLEM_STATUS, type Problem } from './problem.ts'

/** Answers a problem: its status, and `error`, `error_description` and `request_id` as JSON. */
export function sendProblem(reply: FastifyReply, { code, description }: Problem): FastifyReply {
  if (code === 'temporarily_unavailable') reply.header('retry-after', '1')
  return reply
    .code(PROBLEM_STATUS[code])
    .type('application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send({ error: code, error_description: description, request_id: reply.request.id })
}
