/** Owner of a counter of a limit: one client, one subject, one IP address, or the whole route. */
export type RateLimitBy = 'client' | 'subject' | 'ip' | 'route'

/** Rate limit of a policy: `requests` per `perMs` milliseconds. */
export type RateLimitRule = {
  readonly requests: number
  readonly perMs: number
  readonly by: RateLimitBy
}

export type RateLimit = {
  readonly by: RateLimitBy
  readonly perMs: number
  /** Time after which the limit allows one more request. Milliseconds, possibly a fraction. */
  readonly intervalMs: number
  /**
   * Prefix of all counter keys. The prefix contains the route and the rule, so that a changed rule starts with new
   * counters.
   */
  readonly keyPrefix: string
  /** Value of the `RateLimit-Policy` field. */
  readonly policyField: string
}

/** Result of the rate limit for one request, and the remaining quota of the caller. */
export type RateLimitState = {
  readonly allowed: boolean
  /** Requests that the caller may send immediately. */
  readonly remaining: number
  /** Time until the full quota is available. Milliseconds. */
  readonly resetMs: number
  /** Time until the next request is allowed. 0: a request is allowed now. Milliseconds. */
  readonly retryAfterMs: number
}

/** Compiles the rule of a route. Source of `policyField`: draft-ietf-httpapi-ratelimit-headers-10 section 3. */
export function compileRateLimit(route: string, rule: RateLimitRule): RateLimit {
  const { requests, perMs, by } = rule
  return Object.freeze({
    by,
    perMs,
    intervalMs: perMs / requests,
    keyPrefix: `${route} ${requests}/${perMs} `,
    policyField: `"default";q=${requests};w=${Math.ceil(perMs / 1_000)}`,
  })
}

/**
 * Returns the value of the `RateLimit` field: remaining requests, and seconds until the full quota is available.
 * Source: draft-ietf-httpapi-ratelimit-headers-10 section 4.
 */
export function formatRateLimit(state: RateLimitState): string {
  return `"default";r=${state.remaining};t=${Math.ceil(state.resetMs / 1_000)}`
}
