import type { FastifyReply } from 'fastify'
import { recordOutcome } from '../observe/access-log.ts'

/** An error response to a request that does not reach the engine. Source: RFC 6749 section 5.2. */
export type OAuthErrorResponse = {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 415 | 429 | 431 | 500 | 503
  readonly error: string
  readonly description: string
  /**
   * Value of `WWW-Authenticate`. RFC 6749 section 5.2, RFC 6750 section 3. Undefined: the response has no challenge.
   */
  readonly challenge?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends an error response as JSON with `error` and `error_description`, and with `no-store`. */
export function sendErrorResponse(reply: FastifyReply, errorResponse: OAuthErrorResponse): FastifyReply {
  recordOutcome(reply.request, { error: errorResponse.error })
  if (errorResponse.challenge !== undefined) reply.header('www-authenticate', errorResponse.challenge)
  return reply
    .code(errorResponse.status)
    .headers({ 'cache-control': 'no-store', ...errorResponse.headers })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: errorResponse.error, error_description: errorResponse.description }))
}

export function invalidRequest(description: string): OAuthErrorResponse {
  return { status: 400, error: 'invalid_request', description }
}

/** Returns a 429 error with `Retry-After`. Source: RFC 6585 section 4. */
export function tooManyRequests(reason: string, retryAfterSeconds: number): OAuthErrorResponse {
  return {
    status: 429,
    error: 'rate_limited',
    description: `${reason} Try again in ${retryAfterSeconds} seconds.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  }
}
