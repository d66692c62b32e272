import { LRUCache } from 'lru-cache'
import type { RateLimit, RateLimitState } from '../../policy-engine/format/rate-limit.ts'

/**
 * State of one key. `fullAtMs` is the time at which the full allowance is restored, in milliseconds of the monotonic
 * clock.
 */
type Account = { fullAtMs: number }

/**
 * Fraction of an interval by which a request may come early. This tolerance prevents a rejection because of a rounding
 * error.
 */
const SLACK = 0.01

/**
 * Rate limiter of this process. The limiter uses the generic cell rate algorithm (GCRA). The allowance of a key is a
 * time: at most the period of the limit (`perMs`). Each request uses one interval (`intervalMs`) of the allowance, and
 * elapsed time restores the allowance evenly. The limiter stores one number for each key, and at most `maxEntries`
 * keys. The limiter evicts the least recently used key. The next request of an evicted key starts with the full
 * allowance.
 */
export class LocalLimiter {
  readonly #maxEntries: number
  #created: LRUCache<string, Account> | undefined

  constructor(options: { readonly maxEntries: number }) {
    this.#maxEntries = options.maxEntries
  }

  get size(): number {
    return this.#created?.size ?? 0
  }

  /** Creates the cache on first use, because the allocation takes about 10 ms and would delay the start. */
  get #accounts(): LRUCache<string, Account> {
    this.#created ??= new LRUCache({ max: this.#maxEntries })
    return this.#created
  }

  /** Counts a request. Does not count a request above the limit. */
  take(limit: RateLimit, key: string, nowMs: number): RateLimitState {
    const account = this.#accounts.get(key)
    const usedMs = account === undefined ? 0 : Math.max(0, account.fullAtMs - nowMs)
    const denied = denial(limit, usedMs)
    if (denied !== undefined) return denied
    const resetMs = usedMs + limit.intervalMs
    if (account === undefined) this.#accounts.set(key, { fullAtMs: nowMs + resetMs })
    else account.fullAtMs = nowMs + resetMs
    return allowance(limit, resetMs)
  }

  /**
   * Returns the rejection that a request would get now; `undefined` if the request would be allowed. Counts nothing.
   */
  denialOf(limit: RateLimit, key: string, nowMs: number): RateLimitState | undefined {
    const account = this.#accounts.get(key)
    return account === undefined ? undefined : denial(limit, account.fullAtMs - nowMs)
  }

  /**
   * Merges the state of a key from Redis. Local counting then continues from the state with the smaller remaining
   * allowance.
   */
  merge(key: string, resetMs: number, nowMs: number): void {
    const account = this.#accounts.get(key)
    if (account === undefined || account.fullAtMs < nowMs + resetMs) this.replace(key, resetMs, nowMs)
  }

  /** Replaces the state of a key with the state from Redis. */
  replace(key: string, resetMs: number, nowMs: number): void {
    this.#accounts.set(key, { fullAtMs: nowMs + resetMs })
  }
}

function denial(limit: RateLimit, usedMs: number): RateLimitState | undefined {
  const retryAfterMs = usedMs + limit.intervalMs - limit.perMs
  if (retryAfterMs <= limit.intervalMs * SLACK) return undefined
  return { allowed: false, remaining: 0, resetMs: usedMs, retryAfterMs }
}

/** Returns the state after an allowed request. */
export function allowance(limit: RateLimit, resetMs: number): RateLimitState {
  const remaining = Math.max(0, Math.floor((limit.perMs - resetMs) / limit.intervalMs + SLACK))
  return { allowed: true, remaining, resetMs, retryAfterMs: 0 }
}
