import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { RateLimit, RateLimitState } from '../../../policy-engine/format/rate-limit.ts'
import type { RateLimiter } from '../../limits/open-rate-limiter.ts'
import { rateLimitKey } from '../../limits/rate-limit-key.ts'

/**
 * Stage 6: rejects a body whose announced length exceeds the limit, before the gateway reads any of it.
 * `gateway/upstreams/request-body.ts` counts the bytes of a body without an announced length while it forwards them.
 * Reads `contentLength` of the canonical headers and `bodyLimitBytes` of the route.
 * @returns undefined to continue, or the refusal `body_too_large`.
 */
export function enforceLimits(
  request: { readonly contentLength: number },
  route: { readonly bodyLimitBytes: number },
): Refusal | undefined {
  if (request.contentLength <= route.bodyLimitBytes) return undefined
  return { refused: 'body_too_large', limitBytes: route.bodyLimitBytes }
}

/**
 * Stage 6, on routes with a rate limit: counts the request before the gateway reads its body.
 * Reads `caller` and `clientAddress`, which select the counter, and the rate limit of the route.
 * @returns the state of the rate limit, synchronously when this process can decide alone. The promise never rejects.
 */
export function enforceRateLimit(
  request: { readonly caller: Caller | undefined; readonly clientAddress: string },
  limit: RateLimit,
  limiter: Pick<RateLimiter, 'take'>,
): RateLimitState | Promise<RateLimitState> {
  return limiter.take(limit, rateLimitKey(limit, request.caller, request.clientAddress))
}
