import { createSeals, type Seal } from '../../../platform/redis/sealed-value.ts'
import type { SharedRedis, UnavailableReason } from '../../../platform/redis/shared-redis.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { type ClaimNames, knowsClaims, type NamedClaims } from '../../../policy-engine/decide/named-claims.ts'
import type { IntrospectionResult } from './introspection-result.ts'
import { ageOf, readSharedEntry, type SharedEntry, writeSharedEntry } from './shared-entry.ts'
import type { TokenStatus } from './token-status.ts'

/** What a look into Redis gave. A metric label, so a closed list. */
export type SharedLookupResult = 'hit' | 'miss' | 'stale' | 'revoked' | 'bad' | 'failed' | UnavailableReason

export type SharedCacheOptions = {
  readonly shared: SharedRedis
  /** Names the issuer's configuration. */
  readonly id: string
  /** What the gateways share with the issuer, and nobody else knows. */
  readonly secret: string
  /** What a response means; throws when it means nothing. */
  readonly read: (response: unknown, claims: NamedClaims) => TokenStatus
  /** Whether Redis knows that the token was revoked. */
  readonly isRevoked: (caller: Caller) => Promise<boolean>
  /** No answer is used for longer. Milliseconds. */
  readonly maxTtlMs: number
  /** The same for answers from Redis, `sinceClearMs` after this process had to forget everything. Milliseconds. */
  readonly maxAgeMs: (sinceClearMs: number) => number
  /** The wall clock, and one that never jumps. Milliseconds. */
  readonly nowMs: () => number
  readonly tickMs: () => number
  readonly onResult: (result: SharedLookupResult) => void
}

/** What gateways have asked an issuer, for all of them. Nothing here throws, rejects, or takes longer than 50 ms. */
export type SharedCache = {
  /**
   * @param names which claims policies name: an answer that leaves one of them open may not be used.
   * @returns an answer that may be used, or undefined: ask the issuer.
   */
  find(token: string, sinceClearMs: number, names: ClaimNames): Promise<IntrospectionResult | undefined>
  /** Lets the others know. Nobody waits for it. `startedMs` is when the issuer was asked, on the clock that never jumps. */
  keep(
    token: string,
    answer: Pick<SharedEntry, 'response' | 'claims'>,
    verdict: TokenStatus,
    startedMs: number,
  ): void
}

/** For all that is asked of Redis about a token. Milliseconds. */
const DEADLINE_MS = 50
const PREFIX = 'scopegate:verdict:'
/** An answer with more in it is asked for by each gateway itself. Bytes. */
const MAX_SEALED_BYTES = 8 * 1024
/** Clocks of gateways may differ by this much; an answer from further ahead is none. Milliseconds. */
const MAX_AHEAD_MS = 60_000

type Found = { readonly result: SharedLookupResult; readonly answer?: IntrospectionResult }

/**
 * The second level of the verdict cache: active answers of one issuer, sealed (sealed-value.ts). What Redis gives is
 * believed only as far as the seal goes; age, expiry and revocation are judged each time.
 */
export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { shared, nowMs, tickMs, onResult } = options
  const sealOf = createSeals({ purpose: 'verdict', id: options.id, secret: options.secret })

  async function look(seal: Seal, maxAgeMs: number, names: ClaimNames): Promise<Found> {
    const key = PREFIX + seal.name
    // Whoever put something huge there must not make it travel.
    const [sealed, remainingMs] = await Promise.all([
      shared.redis.getrangeBuffer(key, 0, MAX_SEALED_BYTES),
      shared.redis.pttl(key),
    ])
    shared.succeeded()
    if (sealed.length === 0) return { result: 'miss' }
    const text = sealed.length > MAX_SEALED_BYTES ? undefined : seal.open(sealed)
    const kept = text === undefined ? undefined : readSharedEntry(text)
    if (kept === undefined || remainingMs < 0 || kept.askedAtMs > nowMs() + MAX_AHEAD_MS)
      return { result: 'bad' }
    const ageMs = ageOf(kept, { nowMs: nowMs(), remainingMs })
    if (ageMs >= Math.min(kept.lifetimeMs, options.maxTtlMs, maxAgeMs)) return { result: 'stale' }
    if (!knowsClaims(kept.claims, names)) return { result: 'stale' }
    const verdict = options.read(kept.response, kept.claims)
    if (!verdict.active) return { result: 'stale' }
    if (await options.isRevoked(verdict.caller)) return { result: 'revoked' }
    return { result: 'hit', answer: { verdict, ageMs, ttlMs: kept.lifetimeMs } }
  }

  async function lookInTime(seal: Seal, maxAgeMs: number, names: ClaimNames): Promise<Found> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<Found>((resolve) => {
      timer = setTimeout(() => resolve({ result: 'failed' }), DEADLINE_MS)
    })
    const found = look(seal, maxAgeMs, names).catch(
      (error): Found => ({ result: isOther(error) ? 'bad' : 'failed' }),
    )
    try {
      return await Promise.race([found, late])
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async find(token, sinceClearMs, names) {
      const unusable = shared.unavailableReason()
      if (unusable !== undefined) {
        onResult(unusable)
        return undefined
      }
      const { result, answer } = await lookInTime(sealOf(token), options.maxAgeMs(sinceClearMs), names)
      if (result === 'failed') shared.failed()
      onResult(result)
      return answer
    },
    keep(token, answer, verdict, startedMs) {
      if (!verdict.active || shared.unavailableReason() !== undefined) return
      const elapsedMs = Math.ceil(tickMs() - startedMs)
      const askedAtMs = nowMs() - elapsedMs
      const lifetimeMs = Math.floor(
        Math.min(options.maxTtlMs, verdict.caller.expiresAtSeconds * 1_000 - askedAtMs),
      )
      const remainingMs = lifetimeMs - elapsedMs
      if (remainingMs <= 0) return
      const seal = sealOf(token)
      const sealed = seal.close(writeSharedEntry({ ...answer, askedAtMs, lifetimeMs }))
      if (sealed.length > MAX_SEALED_BYTES) return
      shared.redis
        .set(PREFIX + seal.name, sealed, 'PX', remainingMs)
        .then(shared.succeeded, () => shared.failed())
    },
  }
}

/** Something of another kind stands there: Redis works. */
function isOther(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE')
}
