/** What is counted together: requests of one client, one subject, one address, or all of a route. */
export type RateLimitBy = 'client' | 'subject' | 'ip' | 'route'

/** What a policy says: so many requests in so long a time. */
export type RateLimitRule = {
  readonly requests: number
  readonly perMs: number
  readonly by: RateLimitBy
}

/** A rule of one route, with everything worked out that requests share. */
export type RateLimit = {
  readonly by: RateLimitBy
  readonly perMs: number
  /** One request is earned back in this time. Milliseconds, not whole. */
  readonly intervalMs: number
  /** Begins every key. It names route and rule: after a change of the rule everybody starts anew. */
  readonly keyPrefix: string
  /** Value of the `RateLimit-Policy` field. */
  readonly policyField: string
}

/** What became of one request, and where its caller stands now. */
export type RateLimitState = {
  readonly allowed: boolean
  /** Requests that could follow at once. */
  readonly remaining: number
  /** Until everything is earned back. Milliseconds. */
  readonly resetMs: number
  /** Until the next request is allowed; 0 when it is. Milliseconds. */
  readonly retryAfterMs: number
}

/** Compiles the rule of a route. Source of the field: draft-ietf-httpapi-ratelimit-headers-10 section 3. */
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

/** The value of the `RateLimit` field: what remains, and the seconds until all of it is back. Section 4 of the draft. */
export function formatRateLimit(verdict: RateLimitState): string {
  return `"default";r=${verdict.remaining};t=${Math.ceil(verdict.resetMs / 1_000)}`
}
