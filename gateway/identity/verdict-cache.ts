import { LRUCache } from 'lru-cache'
import type { Answer } from './answer.ts'
import type { Verdict } from './verdict.ts'
import { verdictBytes } from './verdict-bytes.ts'

/** How much is remembered of tokens, and for how long. */
export type VerdictCacheOptions = {
  /** Tokens that are remembered as active; the least recently used goes first. */
  readonly maxEntries: number
  /** Memory for those, as far as it can be told. Bytes. */
  readonly maxBytes: number
  /** An active verdict lives no longer than this, and never past the token's own expiry. Milliseconds. */
  readonly maxTtlMs: number
  /** A token found bad is asked about again after this. Milliseconds. */
  readonly negativeTtlMs: number
  /** The cap that is in force for an issuer right now; judged on every hit. Milliseconds. Unless given, `maxTtlMs`. */
  readonly capMs?: (issuer: string) => number
}

/** What the clocks show: one that never jumps, and that of the wall, which tokens expire by. Milliseconds. */
export type Instant = { readonly tickMs: number; readonly nowMs: number }

type Entry = { readonly verdict: Verdict; readonly knownAtMs: number; readonly freshUntilMs: number }

/** Junk tokens cost nothing to make: what they may push out is other junk. */
const MAX_NEGATIVE_ENTRIES = 10_000

/**
 * Remembers what issuers said about tokens, by hash (token-key.ts). It keeps claims, never decisions: whoever takes a verdict
 * out looks at its expiry, audience and scopes again. Time is passed in, and is that of a clock that never jumps; both
 * halves are bounded.
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
      maxSize: options.maxBytes,
      sizeCalculation: ({ verdict }) => verdictBytes(verdict),
      dispose: (entry, key) => this.#forgetGrant(key, entry.verdict),
    })
    this.#inactive = new LRUCache({ max: Math.min(options.maxEntries, MAX_NEGATIVE_ENTRIES) })
  }

  /** Entries of both halves, stale ones included until they are asked for or pushed out. */
  get size(): number {
    return this.#active.size + this.#inactive.size
  }

  /** What the active ones take, by estimate. */
  get bytes(): number {
    return this.#active.calculatedSize
  }

  get(key: string, tickMs: number): Verdict | undefined {
    const entry = this.#active.get(key) ?? this.#inactive.get(key)
    if (entry === undefined) return undefined
    if (tickMs < entry.freshUntilMs && this.#isWithinCap(entry, tickMs)) return entry.verdict
    this.#active.delete(key)
    this.#inactive.delete(key)
    return undefined
  }

  /** `at` is when the question was put: the answer may be that old. */
  set(key: string, { verdict, ageMs, ttlMs }: Answer, at: Instant): void {
    this.#active.delete(key)
    this.#inactive.delete(key)
    const knownAtMs = at.tickMs - ageMs
    if (!verdict.active) {
      const ownTtlMs = Math.min(this.#options.negativeTtlMs, ttlMs)
      this.#inactive.set(key, { verdict, knownAtMs, freshUntilMs: knownAtMs + ownTtlMs })
      return
    }
    const { caller } = verdict
    const ownTtlMs = Math.min(this.#options.maxTtlMs, ttlMs) - ageMs
    const freshForMs = Math.min(ownTtlMs, caller.expiresAtSeconds * 1_000 - at.nowMs)
    if (freshForMs <= 0) return
    this.#active.set(key, { verdict, knownAtMs, freshUntilMs: at.tickMs + freshForMs })
    if (caller.grant === undefined || !this.#active.has(key)) return
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

  #isWithinCap({ verdict, knownAtMs }: Entry, tickMs: number): boolean {
    const { capMs } = this.#options
    return !verdict.active || capMs === undefined || tickMs < knownAtMs + capMs(verdict.caller.issuer)
  }

  #forgetGrant(key: string, verdict: Verdict): void {
    if (!verdict.active || verdict.caller.grant === undefined) return
    const keys = this.#keysOfGrant.get(verdict.caller.grant)
    keys?.delete(key)
    if (keys?.size === 0) this.#keysOfGrant.delete(verdict.caller.grant)
  }
}
