import { OWN_LIMIT_NAME, type SharedLimit } from './shared-limits.ts'

/** Owner of a counter of a limit: one client, one subject, one IP address, or the whole route. */
export type RateLimitBy = 'client' | 'subject' | 'ip' | 'route'

/** Rate limit of a policy: `requests` per `perMs` milliseconds. */
export type RateLimitRule = {
  readonly requests: number
  readonly perMs: number
  readonly by: RateLimitBy
}

export type RateLimit = {
  /** Name in the `RateLimit` fields, in metrics and in logs. */
  readonly name: string
  readonly by: RateLimitBy | 'claim'
  /** The claim whose value owns a counter, with `by: claim`. */
  readonly claim: string | undefined
  readonly perMs: number
  /** Time after which the limit allows one more request. Milliseconds, possibly a fraction. */
  readonly intervalMs: number
  /**
   * Prefix of all counter keys. The prefix contains the route or the name of a shared limit, and the rule, so that a
   * changed rule starts with new counters.
   */
  readonly keyPrefix: string
  /** Value of the `RateLimit-Policy` field. */
  readonly policyField: string
}

/** The limits of a route with shared limits. */
export type RouteLimits = {
  /** The limit of the route itself. */
  readonly own: RateLimit | undefined
  readonly shared: readonly CompiledSharedLimit[]
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

/** A shared limit, compiled once for each plan. */
export type CompiledSharedLimit = {
  /** The limit of a caller without a plan. */
  readonly limit: RateLimit
  /** The claim whose value is the plan of a caller. undefined: the limit has no plans. */
  readonly planClaim: string | undefined
  readonly plans: ReadonlyMap<string, RateLimit>
}

/** Compiles the rule of a route. */
export function compileRateLimit(route: string, rule: RateLimitRule): RateLimit {
  return compile({ ...rule, name: OWN_LIMIT_NAME, owner: route, claim: undefined })
}

/**
 * Compiles a shared limit. All routes with this limit use the same counter keys. Plans with the same number of requests
 * share their counters.
 */
export function compileSharedLimit({
  name,
  perMs,
  key,
  claim,
  plans,
  ...rest
}: SharedLimit): CompiledSharedLimit {
  const by = key === 'address' ? 'ip' : key
  const ofPlan = (requests: number): RateLimit =>
    // The names of routes never begin with this character.
    compile({ requests, perMs, by, name, owner: `@${name}`, claim })
  return Object.freeze({
    limit: ofPlan(rest.requests),
    planClaim: plans?.claim,
    plans: new Map((plans?.values ?? []).map(({ plan, requests }) => [plan, ofPlan(requests)])),
  })
}

/** Source of `policyField`: draft-ietf-httpapi-ratelimit-headers-10 section 3. */
function compile({
  requests,
  perMs,
  by,
  name,
  owner,
  claim,
}: Pick<RateLimit, 'by' | 'perMs' | 'name' | 'claim'> & {
  readonly requests: number
  readonly owner: string
}): RateLimit {
  return Object.freeze({
    name,
    by,
    claim,
    perMs,
    intervalMs: perMs / requests,
    keyPrefix: `${owner} ${requests}/${perMs} `,
    policyField: `"${name}";q=${requests};w=${Math.ceil(perMs / 1_000)}`,
  })
}

/** Returns the limit of a plan. A missing or unknown plan results in the default, never in no limit. */
export function limitOfPlan({ limit, plans }: CompiledSharedLimit, plan: string | undefined): RateLimit {
  return (plan === undefined ? undefined : plans.get(plan)) ?? limit
}

/**
 * Returns the value of the `RateLimit` field: remaining requests, and seconds until the full quota is available.
 * Source: draft-ietf-httpapi-ratelimit-headers-10 section 4.
 */
export function formatRateLimit(name: string, state: RateLimitState): string {
  return `"${name}";r=${state.remaining};t=${Math.ceil(state.resetMs / 1_000)}`
}
