import { checkLimits } from '../../../policy-engine/decide/check-limits.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import {
  formatRateLimit,
  type RateLimit,
  type RateLimitState,
  type RouteLimits,
} from '../../../policy-engine/format/rate-limit.ts'
import { rateLimitKey } from '../../limits/rate-limit-key.ts'
import { takeAll } from '../../limits/take-all.ts'
import type { MatchedContext } from '../request-context.ts'
import { traced } from '../request-spans.ts'

/**
 * Rejects a body whose announced length exceeds the limit, before the gateway reads the body. Builds the upstream path.
 * Counts the request on a route with a rate limit or with shared limits.
 * Reads `method`, `canonical`, `params`, `route`, `caller` and `clientAddress`. Sets `upstreamPath`, `rate` and
 * `rateHeaders`. Resets `decision` for a caller above the rate limit.
 * @returns a promise if this process cannot decide on the rate limit alone. The rejections are `body_too_large` (413),
 * `request_malformed` (400), `target_too_long` (414) and `rate_limited` (429).
 */
export function enforceLimits(
  context: MatchedContext,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { route, caller, clientAddress, services } = context
  const upstreamPath = checkLimits(context, route, services.limits.targetBytes)
  if (typeof upstreamPath !== 'string') return upstreamPath
  context.upstreamPath = upstreamPath
  const rateLimit = route.kind === 'authorization_server' ? undefined : route.rateLimit
  if (rateLimit === undefined) return undefined
  if ('shared' in rateLimit) return enforceSharedLimits(context, rateLimit)
  const state = traced(context, () =>
    services.rateLimiter.take(rateLimit, rateLimitKey(rateLimit, caller, clientAddress)),
  )
  return state instanceof Promise
    ? // The client may have closed the connection before the promise resolves. The metric excludes this request.
      state.then((known) =>
        context.response.destroyed ? undefined : applyRateLimit(context, rateLimit, known),
      )
    : applyRateLimit(context, rateLimit, state)
}

function enforceSharedLimits(
  context: MatchedContext,
  limits: RouteLimits,
): Rejection | undefined | Promise<Rejection | undefined> {
  const { caller, clientAddress, services } = context
  const result = traced(context, () => takeAll(services.rateLimiter, limits, caller, clientAddress))
  return result instanceof Promise
    ? result.then(({ limit, state }) =>
        context.response.destroyed ? undefined : applyRateLimit(context, limit, state),
      )
    : applyRateLimit(context, result.limit, result.state)
}

function applyRateLimit(
  context: MatchedContext,
  rateLimit: RateLimit,
  state: RateLimitState,
): Rejection | undefined {
  context.rate = state
  context.rateHeaders = [
    'ratelimit-policy',
    rateLimit.policyField,
    'ratelimit',
    formatRateLimit(rateLimit.name, state),
  ]
  context.route.meter.rateLimited(state.allowed ? 'allowed' : 'limited')
  if (state.allowed) return undefined
  context.decision = undefined
  context.route.meter.rejectedBy(rateLimit.name)
  return {
    rejected: 'rate_limited',
    retryAfterSeconds: Math.max(1, Math.ceil(state.retryAfterMs / 1_000)),
    limit: rateLimit.name,
  }
}
