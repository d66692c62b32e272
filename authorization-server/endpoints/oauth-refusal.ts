import type { FastifyReply } from 'fastify'

/** Why an OAuth request is refused before the engine sees it. Source: RFC 6749 section 5.2. */
export type OAuthRefusal = {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 415 | 429 | 431 | 500 | 503
  readonly error: string
  readonly description: string
  /** Value of `WWW-Authenticate`, for requests with a token or with `Authorization`. RFC 6749 section 5.2. */
  readonly challenge?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Writes a refusal: JSON with `error` and `error_description`, never cached. */
export function sendRefusal(reply: FastifyReply, refusal: OAuthRefusal): FastifyReply {
  if (refusal.challenge !== undefined) reply.header('www-authenticate', refusal.challenge)
  return reply
    .code(refusal.status)
    .headers({ 'cache-control': 'no-store', ...refusal.headers })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: refusal.error, error_description: refusal.description }))
}

/** The usual one: the request itself is wrong. */
export function invalidRequest(description: string): OAuthRefusal {
  return { status: 400, error: 'invalid_request', description }
}

/** Source: RFC 6585 section 4. */
export function tooManyRequests(reason: string, retryAfterSeconds: number): OAuthRefusal {
  return {
    status: 429,
    error: 'rate_limited',
    description: `${reason} Try again in ${retryAfterSeconds} seconds.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  }
}
