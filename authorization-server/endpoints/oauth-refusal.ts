import type { FastifyReply } from 'fastify'

/** An error response to a request that does not reach the engine. Source: RFC 6749 section 5.2. */
export type OAuthRefusal = {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 415 | 429 | 431 | 500 | 503
  readonly error: string
  readonly description: string
  /** Value of `WWW-Authenticate`, for requests with a token or with `Authorization`. RFC 6749 section 5.2. */
  readonly challenge?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a refusal as JSON with `error` and `error_description`, and with `no-store`. */
export function sendRefusal(reply: FastifyReply, refusal: OAuthRefusal): FastifyReply {
  if (refusal.challenge !== undefined) reply.header('www-authenticate', refusal.challenge)
  return reply
    .code(refusal.status)
    .headers({ 'cache-control': 'no-store', ...refusal.headers })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: refusal.error, error_description: refusal.description }))
}

export function invalidRequest(description: string): OAuthRefusal {
  return { status: 400, error: 'invalid_request', description }
}

/** Returns a 429 error with `Retry-After`. Source: RFC 6585 section 4. */
export function tooManyRequests(reason: string, retryAfterSeconds: number): OAuthRefusal {
  return {
    status: 429,
    error: 'rate_limited',
    description: `${reason} Try again in ${retryAfterSeconds} seconds.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  }
}
