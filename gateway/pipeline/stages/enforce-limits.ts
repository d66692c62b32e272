import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { RateLimit, RateLimitState } from '../../../policy-engine/format/rate-limit.ts'
import type { RateLimiter } from '../../limits/open-rate-limiter.ts'
import { rateLimitKey } from '../../limits/rate-limit-key.ts'

/**
 * Stage 6: what a route takes. A body that announces too many bytes is refused before one of them is read;
 * one that does not announce its length is counted while it passes (upstreams/request-body.ts).
 * @returns undefined to go on, or `body_too_large`.
 */
export function enforceLimits(
  request: { readonly contentLength: number },
  route: { readonly bodyLimitBytes: number },
): Refusal | undefined {
  if (request.contentLength <= route.bodyLimitBytes) return undefined
  return { refused: 'body_too_large', limitBytes: route.bodyLimitBytes }
}

/**
 * Stage 6, on routes that have a rate limit: counts the request for whoever sent it, before its body is read.
 * @returns the verdict, at once when it is known in this process. Never rejects.
 */
export function enforceRateLimit(
  request: { readonly caller: Caller | undefined; readonly clientAddress: string },
  limit: RateLimit,
  limiter: Pick<RateLimiter, 'take'>,
): RateLimitState | Promise<RateLimitState> {
  return limiter.take(limit, rateLimitKey(limit, request.caller, request.clientAddress))
}
