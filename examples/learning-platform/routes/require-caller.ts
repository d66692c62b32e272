import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../families/family.ts'
import { sendProblem } from '../http/send-problem.ts'

/** Denies a write of an anonymous caller before the service reads the body. */
export async function requireCaller(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  if (request.caller !== undefined) return undefined
  return sendProblem(reply, {
    code: 'access_denied',
    description: 'Writes require an identified caller. Send an access token with the scope to write.',
  })
}

/** @throws {Error} if the route does not use requireCaller(). */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = request
  if (caller === undefined) throw new Error('a write route without requireCaller()')
  return caller
}
