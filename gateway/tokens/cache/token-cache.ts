import { LRUCache } from 'lru-cache'
import type { IntrospectionResult } from './introspection-result.ts'
import type { TokenKind } from './token-kind.ts'
import type { TokenStatus } from './token-status.ts'
import { tokenStatusBytes } from './token-status-bytes.ts'

/** How much is remembered of tokens, and for how long. */
export type TokenCacheOptions = {
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

/**
 * When a question about a token was put, on a clock that never jumps and on that of the wall, which tokens expire by; and
 * what the token looks like. Milliseconds.
 */
export type LookupTime = { readonly tickMs: number; readonly nowMs: number; readonly kind: TokenKind }

type Entry = {
  readonly kind: TokenKind
  readonly verdict: TokenStatus
  readonly knownAtMs: number
  readonly freshUntilMs: number
}

/** Junk tokens cost nothing to make: what they may push out is other junk. */
const MAX_NEGATIVE_ENTRIES = 10_000

/**
 * Remembers what issuers said about tokens, by hash (token-key.ts). It keeps claims, never decisions: whoever takes a verdict
 * out looks at its expiry, audience and scopes again. Time is passed in, and is that of a clock that never jumps; both
 * halves are bounded.
 */
export class TokenCache {
  readonly #options: TokenCacheOptions
  readonly #active: LRUCache<string, Entry>
  readonly #inactive: LRUCache<string, Entry>
  /** Most grants have one token at a time, and a set takes as much memory as its verdict. */
  readonly #keysOfGrant = new Map<string, string | Set<string>>()
  readonly #entries = { jwt: 0, opaque: 0 }

  constructor(options: TokenCacheOptions) {
    this.#options = options
    this.#active = new LRUCache({
      max: options.maxEntries,
      maxSize: options.maxBytes,
      sizeCalculation: ({ verdict }) => tokenStatusBytes(verdict),
      dispose: (entry, key) => {
        this.#entries[entry.kind] -= 1
        this.#forgetGrant(key, entry.verdict)
      },
    })
    this.#inactive = new LRUCache({
      max: Math.min(options.maxEntries, MAX_NEGATIVE_ENTRIES),
      dispose: ({ kind }) => {
        this.#entries[kind] -= 1
      },
    })
  }

  /** Entries of both halves, stale ones included until they are asked for or pushed out. */
  get size(): number {
    return this.#active.size + this.#inactive.size
  }

  /** The same, by what the tokens look like. */
  get entries(): Readonly<Record<TokenKind, number>> {
    return this.#entries
  }

  /** What the active ones take, by estimate. */
  get bytes(): number {
    return this.#active.calculatedSize
  }

  get(key: string, tickMs: number): TokenStatus | undefined {
    const entry = this.#active.get(key) ?? this.#inactive.get(key)
    if (entry === undefined) return undefined
    if (tickMs < entry.freshUntilMs && this.#isWithinCap(entry, tickMs)) return entry.verdict
    this.#active.delete(key)
    this.#inactive.delete(key)
    return undefined
  }

  /** `at` is when the question was put: the answer may be that old. */
  set(key: string, { verdict, ageMs, ttlMs }: IntrospectionResult, at: LookupTime): void {
    this.#active.delete(key)
    this.#inactive.delete(key)
    const knownAtMs = at.tickMs - ageMs
    if (!verdict.active) {
      const ownTtlMs = Math.min(this.#options.negativeTtlMs, ttlMs)
      this.#inactive.set(key, { kind: at.kind, verdict, knownAtMs, freshUntilMs: knownAtMs + ownTtlMs })
      this.#entries[at.kind] += 1
      return
    }
    const { caller } = verdict
    const ownTtlMs = Math.min(this.#options.maxTtlMs, ttlMs) - ageMs
    const freshForMs = Math.min(ownTtlMs, caller.expiresAtSeconds * 1_000 - at.nowMs)
    if (freshForMs <= 0) return
    this.#active.set(key, { kind: at.kind, verdict, knownAtMs, freshUntilMs: at.tickMs + freshForMs })
    if (!this.#active.has(key)) return // larger than all of the cache
    this.#entries[at.kind] += 1
    if (caller.grant === undefined) return
    const keys = this.#keysOfGrant.get(caller.grant)
    if (keys === undefined) this.#keysOfGrant.set(caller.grant, key)
    else if (typeof keys === 'string') this.#keysOfGrant.set(caller.grant, new Set([keys, key]))
    else keys.add(key)
  }

  /** Forgets every token of a grant. */
  dropGrant(grant: string): void {
    const keys = this.#keysOfGrant.get(grant)
    if (keys === undefined) return
    for (const key of typeof keys === 'string' ? [keys] : [...keys]) this.#active.delete(key)
  }

  clear(): void {
    this.#active.clear()
    this.#inactive.clear()
  }

  #isWithinCap({ verdict, knownAtMs }: Entry, tickMs: number): boolean {
    const { capMs } = this.#options
    return !verdict.active || capMs === undefined || tickMs < knownAtMs + capMs(verdict.caller.issuer)
  }

  #forgetGrant(key: string, verdict: TokenStatus): void {
    if (!verdict.active || verdict.caller.grant === undefined) return
    const { grant } = verdict.caller
    const keys = this.#keysOfGrant.get(grant)
    if (typeof keys === 'object') keys.delete(key)
    if (keys === key || (typeof keys === 'object' && keys.size === 0)) this.#keysOfGrant.delete(grant)
  }
}
