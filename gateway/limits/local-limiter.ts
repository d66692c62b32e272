import { LRUCache } from 'lru-cache'
import type { RateLimit, RateLimitState } from '../../policy-engine/format/rate-limit.ts'

/** When everything that a caller used will be earned back. Milliseconds of the monotonic clock. */
type Account = { backAtMs: number }

/**
 * Requests may come this part of an interval early: sums of fractions must not cost anybody a request.
 */
const SLACK = 0.01

/**
 * Counts requests in this process, with the generic cell rate algorithm (GCRA): each request costs one interval, a caller
 * may be `per` ahead, and time earns it back evenly. One number for each caller, at most `maxEntries` of them: the least
 * recently seen is forgotten first, and starts anew.
 */
export class LocalLimiter {
  readonly #maxEntries: number
  #made: LRUCache<string, Account> | undefined

  constructor(options: { readonly maxEntries: number }) {
    this.#maxEntries = options.maxEntries
  }

  get size(): number {
    return this.#made?.size ?? 0
  }

  /** Made for the first who counts: room for so many takes 10 ms, for which nobody waits at the start. */
  get #accounts(): LRUCache<string, Account> {
    this.#made ??= new LRUCache({ max: this.#maxEntries })
    return this.#made
  }

  /** Counts a request, unless it is one too many: those cost nothing. */
  take(limit: RateLimit, key: string, nowMs: number): RateLimitState {
    const account = this.#accounts.get(key)
    const usedMs = account === undefined ? 0 : Math.max(0, account.backAtMs - nowMs)
    const refused = refusal(limit, usedMs)
    if (refused !== undefined) return refused
    const resetMs = usedMs + limit.intervalMs
    if (account === undefined) this.#accounts.set(key, { backAtMs: nowMs + resetMs })
    else account.backAtMs = nowMs + resetMs
    return allowance(limit, resetMs)
  }

  /** The refusal that a request would get now; undefined when it would be allowed. Counts nothing. */
  refusalOf(limit: RateLimit, key: string, nowMs: number): RateLimitState | undefined {
    const account = this.#accounts.get(key)
    return account === undefined ? undefined : refusal(limit, account.backAtMs - nowMs)
  }

  /** Takes over what somebody else counted, so that counting can go on from there. */
  note(key: string, resetMs: number, nowMs: number): void {
    const backAtMs = nowMs + resetMs
    const account = this.#accounts.get(key)
    if (account === undefined) this.#accounts.set(key, { backAtMs })
    else if (account.backAtMs < backAtMs) account.backAtMs = backAtMs
  }
}

function refusal(limit: RateLimit, usedMs: number): RateLimitState | undefined {
  const retryAfterMs = usedMs + limit.intervalMs - limit.perMs
  if (retryAfterMs <= limit.intervalMs * SLACK) return undefined
  return { allowed: false, remaining: 0, resetMs: usedMs, retryAfterMs }
}

/** What a caller has left after a request that was allowed. */
export function allowance(limit: RateLimit, resetMs: number): RateLimitState {
  const remaining = Math.max(0, Math.floor((limit.perMs - resetMs) / limit.intervalMs + SLACK))
  return { allowed: true, remaining, resetMs, retryAfterMs: 0 }
}
