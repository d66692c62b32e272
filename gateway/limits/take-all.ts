import type { Caller } from '../../policy-engine/decide/caller.ts'
import { singleClaim } from '../../policy-engine/decide/named-claims.ts'
import {
  type CompiledSharedLimit,
  limitOfPlan,
  type RateLimit,
  type RateLimitState,
  type RouteLimits,
} from '../../policy-engine/format/rate-limit.ts'
import type { RateLimiter } from './open-rate-limiter.ts'
import { rateLimitKey } from './rate-limit-key.ts'

/** The result of one of several limits. */
export type LimitResult = { readonly limit: RateLimit; readonly state: RateLimitState }

/**
 * Counts a request against several limits, and returns the result of the limit that is nearest to its end. After a
 * rejection, this is the limit with the longest wait time.
 * A request that this process rejects without Redis counts against no limit. Redis decides on each limit separately,
 * because the keys can be on several nodes. A request that Redis rejects can therefore count against the other limits.
 */
export function takeAll(
  limiter: Pick<RateLimiter, 'take' | 'denialOf'>,
  { own, shared }: RouteLimits,
  caller: Caller | undefined,
  clientAddress: string,
): LimitResult | Promise<LimitResult> {
  const all = shared.map((one) => limitOfPlan(one, planOf(one, caller)))
  if (own !== undefined) all.push(own)
  const keyed = all.map((limit) => ({ limit, key: rateLimitKey(limit, caller, clientAddress) }))
  const denied = keyed.flatMap(({ limit, key }) => {
    const state = limiter.denialOf(limit, key)
    return state === undefined ? [] : [{ limit, state }]
  })
  if (denied.length > 0) return nearestToEnd(denied)
  const results = keyed.map(({ limit, key }): LimitResult | Promise<LimitResult> => {
    const state = limiter.take(limit, key)
    return state instanceof Promise ? state.then((known) => ({ limit, state: known })) : { limit, state }
  })
  return isComplete(results) ? nearestToEnd(results) : Promise.all(results).then(nearestToEnd)
}

function planOf({ planClaim }: CompiledSharedLimit, caller: Caller | undefined): string | undefined {
  return planClaim === undefined ? undefined : singleClaim(caller?.claims, planClaim)
}

function isComplete(
  results: readonly (LimitResult | Promise<LimitResult>)[],
): results is readonly LimitResult[] {
  return !results.some((one) => one instanceof Promise)
}

function nearestToEnd(results: readonly LimitResult[]): LimitResult {
  return results.reduce((nearest, one) => (isNearer(one.state, nearest.state) ? one : nearest))
}

/** The remaining requests of a rejected request are 0, so a rejection comes before each allowed request. */
function isNearer(one: RateLimitState, other: RateLimitState): boolean {
  return (
    (one.retryAfterMs - other.retryAfterMs ||
      other.remaining - one.remaining ||
      one.resetMs - other.resetMs) > 0
  )
}
