import { LRUCache } from 'lru-cache'
import type { ClaimValue } from '../../../policy-engine/decide/named-claims.ts'
import type { TokenKind } from './token-kind.ts'
import type { ActiveStatus, IntrospectionResult, TokenStatus } from './token-status.ts'

export type TokenCacheOptions = {
  /** Maximum number of active tokens. The cache evicts the least recently used entry first. */
  readonly maxEntries: number
  /** Maximum memory for active tokens, by estimate. Bytes. */
  readonly maxBytes: number
  /** Maximum lifetime of an active entry. The lifetime also ends when the token expires. Milliseconds. */
  readonly maxTtlMs: number
  /** Lifetime of an entry for a token that is not active. Milliseconds. */
  readonly negativeTtlMs: number
  /** Returns the maximum age of an issuer's active statuses, on every hit. Default: `maxTtlMs`. Milliseconds. */
  readonly capMs?: (issuer: string) => number
}

/**
 * The start of a token validation, and the kind of token. `tickMs` is on a monotonic clock. `nowMs` is on the wall
 * clock, because the expiry of a token is a date. Milliseconds.
 */
export type LookupTime = { readonly tickMs: number; readonly nowMs: number; readonly kind: TokenKind }

type Entry<Status extends TokenStatus = TokenStatus> = {
  readonly kind: TokenKind
  readonly status: Status
  readonly knownAtMs: number
  freshUntilMs: number
  /**
   * While the issuer cannot respond, the gateway may use an active status until this time. This is the end of
   * `staleIfError` or the expiry of the token, whichever is earlier.
   */
  readonly staleUntilMs: number
  /** The gateway checks the token again only after this time, because the last check had no result. */
  retryAtMs: number
}

/** An active status that may be used while the issuer cannot respond. */
export type StaleEntry = Pick<Entry<ActiveStatus>, 'status' | 'retryAtMs'>

/** Smaller than every time of the clock. */
const NEVER = Number.NEGATIVE_INFINITY

/**
 * Maximum number of entries for invalid tokens. Anyone can create invalid tokens without effort. Entries of invalid
 * tokens may therefore evict only entries of other invalid tokens.
 */
const MAX_NEGATIVE_ENTRIES = 10_000

/**
 * Caches the status of tokens by hash (`tokenKey()`). An entry holds claims, never a decision: callers check expiry,
 * audience and scopes again on every hit. Callers pass in the time of a monotonic clock. Active and inactive entries
 * have separate limits.
 */
export class TokenCache {
  readonly #options: TokenCacheOptions
  readonly #active: LRUCache<string, Entry<ActiveStatus>>
  readonly #inactive: LRUCache<string, Entry>
  /**
   * Keys of the cached tokens, by grant. A grant with one token maps to the key itself. A set would take as much memory
   * as a token status, and most grants have one token at a time.
   */
  readonly #keysOfGrant = new Map<string, string | Set<string>>()
  readonly #entries = { jwt: 0, opaque: 0 }

  constructor(options: TokenCacheOptions) {
    this.#options = options
    this.#active = new LRUCache({
      max: options.maxEntries,
      maxSize: options.maxBytes,
      sizeCalculation: ({ status }) => tokenStatusBytes(status),
      dispose: (entry, key) => {
        this.#entries[entry.kind] -= 1
        this.#removeFromGrant(key, entry.status)
      },
    })
    this.#inactive = new LRUCache({
      max: Math.min(options.maxEntries, MAX_NEGATIVE_ENTRIES),
      dispose: ({ kind }) => {
        this.#entries[kind] -= 1
      },
    })
  }

  /**
   * The number of active and inactive entries. An expired entry counts until a lookup or an eviction removes the entry.
   */
  get size(): number {
    return this.#active.size + this.#inactive.size
  }

  get entries(): Readonly<Record<TokenKind, number>> {
    return this.#entries
  }

  /** Memory of the active entries, by estimate. Bytes. */
  get bytes(): number {
    return this.#active.calculatedSize
  }

  get(key: string, tickMs: number): TokenStatus | undefined {
    const entry = this.#active.get(key) ?? this.#inactive.get(key)
    if (entry === undefined) return undefined
    if (tickMs < entry.freshUntilMs && this.#isWithinCap(entry, tickMs)) return entry.status
    // A status that exceeded the maximum age stays expired, even if the maximum age for its issuer increases later.
    entry.freshUntilMs = NEVER
    if (tickMs >= entry.staleUntilMs) this.drop(key)
    return undefined
  }

  /**
   * Returns an active status that may be used while the issuer cannot respond. Call `get()` first: the status may still
   * be current.
   */
  stale(key: string, tickMs: number): StaleEntry | undefined {
    const entry = this.#active.peek(key)
    return entry !== undefined && tickMs < entry.staleUntilMs ? entry : undefined
  }

  /**
   * Records that a check had no result, so the earlier status is used. Stores the earlier status if the status is from
   * another gateway.
   * @param retryAtMs time of the next check, on the monotonic clock.
   * @returns false, without a change, when a concurrent check has found that the token is not active.
   */
  keepStale(key: string, result: IntrospectionResult, at: LookupTime, retryAtMs: number): boolean {
    if (this.#inactive.has(key)) return false
    if (!this.#active.has(key)) this.set(key, result, at)
    const entry = this.#active.peek(key)
    if (entry === undefined) return true
    entry.freshUntilMs = NEVER
    entry.retryAtMs = retryAtMs
    return true
  }

  /**
   * Stores a result. `at` is the start of the validation, because the result may describe the state of the token at
   * that time.
   */
  set(
    key: string,
    { status, ageMs, ttlMs, staleIfErrorMs = 0 }: IntrospectionResult,
    { tickMs, nowMs, kind }: LookupTime,
  ): void {
    this.drop(key)
    const knownAtMs = tickMs - ageMs
    if (!status.active) {
      const freshUntilMs = knownAtMs + Math.min(this.#options.negativeTtlMs, ttlMs)
      this.#inactive.set(key, {
        kind,
        status,
        knownAtMs,
        freshUntilMs,
        staleUntilMs: NEVER,
        retryAtMs: NEVER,
      })
      this.#entries[kind] += 1
      return
    }
    const { caller } = status
    const expiresAtMs = tickMs + caller.expiresAtSeconds * 1_000 - nowMs
    const ttlEndMs = knownAtMs + Math.min(this.#options.maxTtlMs, ttlMs)
    const freshUntilMs = Math.min(ttlEndMs, expiresAtMs)
    const staleUntilMs = staleIfErrorMs === 0 ? NEVER : Math.min(ttlEndMs + staleIfErrorMs, expiresAtMs)
    if (Math.max(freshUntilMs, staleUntilMs) <= tickMs) return
    this.#active.set(key, { kind, status, knownAtMs, freshUntilMs, staleUntilMs, retryAtMs: NEVER })
    if (!this.#active.has(key)) return // the entry is larger than the limit of the cache
    this.#entries[kind] += 1
    if (caller.grant === undefined) return
    const keys = this.#keysOfGrant.get(caller.grant)
    if (keys === undefined) this.#keysOfGrant.set(caller.grant, key)
    else if (typeof keys === 'string') this.#keysOfGrant.set(caller.grant, new Set([keys, key]))
    else keys.add(key)
  }

  dropGrant(grant: string): void {
    const keys = this.#keysOfGrant.get(grant)
    if (keys === undefined) return
    for (const key of typeof keys === 'string' ? [keys] : [...keys]) this.#active.delete(key)
  }

  drop(key: string): void {
    this.#active.delete(key)
    this.#inactive.delete(key)
  }

  /**
   * Ends the cache time of every status. A status that may be used while its issuer cannot respond stays in the cache.
   */
  expire(tickMs: number): void {
    this.#inactive.clear()
    const over: string[] = []
    this.#active.forEach((entry, key) => {
      entry.freshUntilMs = NEVER
      if (tickMs >= entry.staleUntilMs) over.push(key)
    })
    for (const key of over) this.#active.delete(key)
  }

  clear(): void {
    this.#active.clear()
    this.#inactive.clear()
  }

  #isWithinCap({ status, knownAtMs }: Entry, tickMs: number): boolean {
    const { capMs } = this.#options
    return !status.active || capMs === undefined || tickMs < knownAtMs + capMs(status.caller.issuer)
  }

  #removeFromGrant(key: string, status: TokenStatus): void {
    if (!status.active || status.caller.grant === undefined) return
    const { grant } = status.caller
    const keys = this.#keysOfGrant.get(grant)
    if (typeof keys === 'object') keys.delete(key)
    if (keys === key || (typeof keys === 'object' && keys.size === 0)) this.#keysOfGrant.delete(grant)
  }
}

/** Memory of the objects, the arrays and the key of an empty entry, measured by `npm run soak:tokens`. Bytes. */
const EMPTY_ENTRY_BYTES = 480
/** Additional memory of a string of any length. Bytes. */
const TEXT_BYTES = 16
/** Memory of a map entry for one claim. Bytes. */
const CLAIM_BYTES = 48
/** Memory of one scope in a set that no other token shares. Bytes. */
const SCOPE_BYTES = 32

/**
 * Estimates the memory of a cached token status, in bytes. Without the estimate, tokens with long claims could make the
 * cache too large. The estimate assumes ASCII strings. Tokens of one client share a set of scopes, but the estimate
 * counts the set for each token.
 */
function tokenStatusBytes(status: TokenStatus): number {
  if (!status.active) return EMPTY_ENTRY_BYTES
  const { caller } = status
  let bytes = EMPTY_ENTRY_BYTES + caller.scopes.size * SCOPE_BYTES
  for (const text of caller.audience) bytes += TEXT_BYTES + text.length
  for (const text of caller.identityHeaders) bytes += text.length
  for (const text of [caller.grant, caller.tokenId, caller.confirmation?.thumbprint])
    if (text !== undefined) bytes += TEXT_BYTES + text.length
  for (const [, value] of caller.claims) bytes += CLAIM_BYTES + claimBytes(value)
  return bytes
}

/**
 * Estimates the memory of a claim value. Ignores the names of claims, because all entries share the strings of the
 * policies.
 */
function claimBytes(value: ClaimValue | undefined): number {
  if (typeof value === 'string') return TEXT_BYTES + value.length
  if (typeof value !== 'object') return 0
  return value.reduce<number>((sum, member) => sum + claimBytes(member), value.length * TEXT_BYTES)
}
