import { LRUCache } from 'lru-cache'
import type { Verdict } from './verdict.ts'

/** How much is remembered of tokens, and for how long. */
export type VerdictCacheOptions = {
  /** Tokens that are remembered as active; the least recently used goes first. */
  readonly maxEntries: number
  /** An active verdict lives no longer than this, and never past the token's own expiry. Milliseconds. */
  readonly maxTtlMs: number
  /** A token found bad is asked about again after this. Milliseconds. */
  readonly negativeTtlMs: number
}

type Entry = { readonly verdict: Verdict; readonly freshUntilMs: number }

/** Junk tokens cost nothing to make: what they may push out is other junk. */
const MAX_NEGATIVE_ENTRIES = 10_000

/**
 * Remembers what issuers said about tokens, by hash (token-key.ts). It keeps claims, never decisions.
 * Time is passed in; both halves are bounded.
 */
export class VerdictCache {
  readonly #options: VerdictCacheOptions
  readonly #active: LRUCache<string, Entry>
  readonly #inactive: LRUCache<string, Entry>
  readonly #keysOfGrant = new Map<string, Set<string>>()

  constructor(options: VerdictCacheOptions) {
    this.#options = options
    this.#active = new LRUCache({
      max: options.maxEntries,
      dispose: (entry, key) => this.#forgetGrant(key, entry.verdict),
    })
    this.#inactive = new LRUCache({ max: Math.min(options.maxEntries, MAX_NEGATIVE_ENTRIES) })
  }

  /** Entries of both halves, stale ones included until they are asked for or pushed out. */
  get size(): number {
    return this.#active.size + this.#inactive.size
  }

  get(key: string, nowMs: number): Verdict | undefined {
    const entry = this.#active.get(key) ?? this.#inactive.get(key)
    if (entry === undefined) return undefined
    if (nowMs < entry.freshUntilMs) return entry.verdict
    this.#active.delete(key)
    this.#inactive.delete(key)
    return undefined
  }

  set(key: string, verdict: Verdict, nowMs: number): void {
    this.#active.delete(key)
    this.#inactive.delete(key)
    if (!verdict.active) {
      this.#inactive.set(key, { verdict, freshUntilMs: nowMs + this.#options.negativeTtlMs })
      return
    }
    const { caller } = verdict
    const freshUntilMs = Math.min(nowMs + this.#options.maxTtlMs, caller.expiresAtSeconds * 1_000)
    if (freshUntilMs <= nowMs) return
    this.#active.set(key, { verdict, freshUntilMs })
    if (caller.grant === undefined) return
    const keys = this.#keysOfGrant.get(caller.grant)
    if (keys === undefined) this.#keysOfGrant.set(caller.grant, new Set([key]))
    else keys.add(key)
  }

  /** Forgets every token of a grant. */
  dropGrant(grant: string): void {
    const keys = this.#keysOfGrant.get(grant)
    if (keys === undefined) return
    for (const key of [...keys]) this.#active.delete(key)
  }

  clear(): void {
    this.#active.clear()
    this.#inactive.clear()
  }

  #forgetGrant(key: string, verdict: Verdict): void {
    if (!verdict.active || verdict.caller.grant === undefined) return
    const keys = this.#keysOfGrant.get(verdict.caller.grant)
    keys?.delete(key)
    if (keys?.size === 0) this.#keysOfGrant.delete(verdict.caller.grant)
  }
}
