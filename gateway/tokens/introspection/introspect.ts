import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type ClaimNames,
  type NamedClaims,
  NO_NAMES,
  readNamedClaims,
} from '../../../policy-engine/decide/named-claims.ts'
import { createScopeSets } from '../../../policy-engine/decide/scope-sets.ts'
import type { IntrospectionResult } from '../cache/introspection-result.ts'
import { createSharedCache, type SharedLookupResult } from '../cache/shared-cache.ts'
import type { TokenStatus } from '../cache/token-status.ts'
import {
  createIntrospectionClient,
  type IntrospectionClient,
  type IntrospectionClientOptions,
} from './introspection-client.ts'
import { keptClaims, readIntrospection } from './read-introspection.ts'

/** What gateways know together; without it each asks for itself. */
export type SharedLevel = {
  readonly redis: SharedRedis
  /** Whether Redis knows that the token was revoked. */
  readonly isRevoked: (caller: Caller) => Promise<boolean>
  /** `tokenCache.maxTtl`. Milliseconds. */
  readonly maxTtlMs: number
  /**
   * How old an answer may be that is taken over: as the issuer's revocations are heard of right now, and `sinceClearMs`
   * after this process had to forget everything. Milliseconds.
   */
  readonly maxAgeMs: (issuer: string, sinceClearMs: number) => number
  readonly onResult: (result: SharedLookupResult) => void
}

/** Whom to ask about tokens, and as whom. */
export type IntrospectionOptions = IntrospectionClientOptions & {
  /** Names the issuer's configuration to other gateways. */
  readonly id: string
  /** An answer is used no longer than this. Milliseconds. */
  readonly ttlMs: number
  readonly shared: SharedLevel | undefined
  /** The wall clock. Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/** Asks one issuer about tokens. */
export type Introspector = Pick<IntrospectionClient, 'load' | 'trouble' | 'close'> & {
  /**
   * What the issuer says, or said to any gateway of late.
   * @param sinceClearMs how long ago everything was forgotten here; unless given, never.
   * @param names which claims policies name; unless given, none.
   * @throws {UnverifiableError} by the promise, when the issuer does not say.
   */
  introspect(token: string, sinceClearMs?: number, names?: ClaimNames): Promise<IntrospectionResult>
}

/**
 * Asks an issuer whether tokens are active, after a look at what other gateways were told. Cost of a call: 50 ms at most for
 * that look, and one HTTP request.
 */
export function createIntrospector(options: IntrospectionOptions): Introspector {
  const { issuer, ttlMs, shared, nowMs, tickMs } = options
  const questions = createIntrospectionClient(options)
  const scopes = createScopeSets()
  const read = (response: unknown, claims: NamedClaims): TokenStatus =>
    readIntrospection(response, { issuer, nowSeconds: nowMs() / 1_000, scopes, claims })
  const known =
    shared === undefined
      ? undefined
      : createSharedCache({
          ...shared,
          shared: shared.redis,
          id: options.id,
          secret: options.clientSecret,
          maxTtlMs: Math.min(shared.maxTtlMs, ttlMs),
          maxAgeMs: (sinceClearMs) => shared.maxAgeMs(issuer, sinceClearMs),
          read,
          nowMs,
          tickMs,
        })

  return {
    async introspect(token, sinceClearMs = Number.POSITIVE_INFINITY, names = NO_NAMES) {
      if (known !== undefined) {
        const found = await known.find(token, sinceClearMs, names)
        if (found !== undefined) return found
      }
      const startedMs = tickMs()
      const response = await questions.ask(token)
      const claims = readNamedClaims(membersOf(response), names)
      const verdict = read(response, claims)
      known?.keep(token, { response: keptClaims(response), claims }, verdict, startedMs)
      return { verdict, ageMs: 0, ttlMs }
    },
    load: questions.load,
    get trouble() {
      return questions.trouble
    },
    close: questions.close,
  }
}

function membersOf(response: unknown): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(response ?? {}))
}
