import { LRUCache } from 'lru-cache'
import type { RateLimit, RateLimitState } from '../../policy-engine/format/rate-limit.ts'

/**
 * State of one key. `backAtMs` is the time at which the full allowance is restored. Milliseconds of the monotonic
 * clock.
 */
type Account = { backAtMs: number }

/** Fraction of an interval by which a request may come early. Rounding errors must not cost a request. */
const SLACK = 0.01

/**
 * Rate limiter of this process. It uses the generic cell rate algorithm (GCRA): each request costs one interval, a
 * caller may be `per` ahead, and time restores the allowance evenly. Each key needs one number. The limiter holds at
 * most `maxEntries` keys. It evicts the least recently used key, which then starts with the full allowance.
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

  /** Creates the cache on first use. The allocation takes about 10 ms, which would delay the start. */
  get #accounts(): LRUCache<string, Account> {
    this.#made ??= new LRUCache({ max: this.#maxEntries })
    return this.#made
  }

  /** Counts a request. A request above the limit is not counted. */
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

  /** Returns the refusal that a request would get now; `undefined` if it would be allowed. Counts nothing. */
  refusalOf(limit: RateLimit, key: string, nowMs: number): RateLimitState | undefined {
    const account = this.#accounts.get(key)
    return account === undefined ? undefined : refusal(limit, account.backAtMs - nowMs)
  }

  /** Merges a state that was counted elsewhere, so that local counting continues from it. */
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

/** Returns the state after an allowed request. */
export function allowance(limit: RateLimit, resetMs: number): RateLimitState {
  const remaining = Math.max(0, Math.floor((limit.perMs - resetMs) / limit.intervalMs + SLACK))
  return { allowed: true, remaining, resetMs, retryAfterMs: 0 }
}
