import type { Revocation } from '../../../oauth/revocation.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type ClaimNames,
  type ClaimSelection,
  EMPTY_CLAIM_SELECTION,
  knowsClaims,
} from '../../../policy-engine/decide/named-claims.ts'
import type { Issuer } from '../issuer.ts'
import { resolveIssuer, type TokenCheck } from '../resolve-issuer.ts'
import { createRevokedTokens } from '../revocation/revoked-tokens.ts'
import type { TokenCache } from './token-cache.ts'
import { tokenKey } from './token-key.ts'
import { type TokenKind, tokenKind } from './token-kind.ts'
import type { TokenStatus } from './token-status.ts'

/** Where verdicts are kept, and who gives them. An issuer's promise rejects when nobody can say. */
export type TokenValidatorOptions = {
  /** Whose tokens are taken somewhere. */
  readonly issuers: readonly Issuer[]
  readonly cache: TokenCache
  /** The wall clock, which tokens expire by. Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** A clock that never jumps, which what is remembered ages by. Milliseconds. */
  readonly tickMs: () => number
  readonly observe: { hit(kind: TokenKind): void; miss(kind: TokenKind): void }
}

/** Answers what is known about tokens, and asks the issuer once for each that is not known. */
export type TokenValidator = {
  /**
   * A known verdict at once, else a promise of one. Parallel calls with one token share one question.
   * @param issuers whose tokens are good where this one was sent, by name and in the order in which they are asked; the same
   * array each time. What a token means depends on all of them, so all of them name it in cache keys.
   * @param wanted which claims count; unless given, none. A verdict that leaves open one that is needed is not taken.
   * @throws {UnverifiableError} by the promise, when nobody can say.
   */
  verdictOf(
    token: string,
    issuers: readonly string[],
    wanted?: ClaimSelection,
  ): TokenStatus | Promise<TokenStatus>
  /**
   * Refuses what was revoked from now on, tokens being asked about right now included.
   * @param issuer whom the message is from, where it names none.
   */
  revoke(revocation: Revocation, issuer?: string): void
  /** Whether a revocation was heard of that is about this caller. */
  isRevoked(caller: Caller): boolean
  /** Forgets everything: revocations may have been missed. */
  clear(): void
}

/** Issuers that are asked together, and the name of all of them. */
type IssuerSet = { readonly issuers: readonly Issuer[]; readonly id: string }

type AskedCheck = Exclude<TokenCheck, { readonly kind: 'known' }>

const REVOKED: TokenStatus = { active: false, fault: { reason: 'inactive' } }

function isEnough(verdict: TokenStatus, needed: ClaimNames): boolean {
  return needed.length === 0 || !verdict.active || knowsClaims(verdict.caller.claims, needed)
}

/** Remembers what the issuer says about tokens, and asks it once for all who want to know at the same time. */
export function createTokenValidator(options: TokenValidatorOptions): TokenValidator {
  const { cache, nowMs, tickMs } = options
  const chosen = new WeakMap<readonly string[], IssuerSet>()
  const flights = new Map<string, Promise<TokenStatus>>()
  const revoked = createRevokedTokens({ onForgotten: clear })
  // Counts how often everything was forgotten; a question remembers the count it started at.
  let clears = 0
  let clearedAtMs = Number.NEGATIVE_INFINITY

  /** Those of a resource, worked out once: there are as many lists as resources. */
  function issuerSet(names: readonly string[]): IssuerSet {
    const known = chosen.get(names)
    if (known !== undefined) return known
    const issuers = names.flatMap((name) => options.issuers.find(({ issuer }) => issuer === name) ?? [])
    const set = { issuers, id: issuers.map(({ id }) => id).join(' ') }
    chosen.set(names, set)
    return set
  }

  function clear(): void {
    clears += 1
    clearedAtMs = tickMs()
    cache.clear()
    // Later calls ask anew; those that wait still get the answer to their own question.
    flights.clear()
  }

  async function ask(
    key: string,
    kind: TokenKind,
    check: AskedCheck,
    names: ClaimNames,
  ): Promise<TokenStatus> {
    const startedAt = clears
    const at = { tickMs: tickMs(), nowMs: nowMs() }
    const answer = await check.ask(at.tickMs - clearedAtMs, names)
    const { verdict } = answer
    // The answer may have been given before the revocation that has reached us since; a signature knows of none.
    if (verdict.active && revoked.has(verdict.caller)) return REVOKED
    if (clears === startedAt) cache.set(key, answer, { ...at, kind })
    return verdict
  }

  return {
    verdictOf(token, of, { needed, names } = EMPTY_CLAIM_SELECTION) {
      const { issuers, id } = issuerSet(of)
      const key = tokenKey(id, token)
      const known = cache.get(key, tickMs())
      if (known !== undefined && isEnough(known, needed)) {
        options.observe.hit(tokenKind(token))
        return known.active && revoked.has(known.caller) ? REVOKED : known
      }
      const kind = tokenKind(token)
      options.observe.miss(kind)
      // Who looks at other claims asks for itself: policies have just changed.
      const flightKey = names.length === 0 ? key : `${key}\n${names.join('\n')}`
      const shared = flights.get(flightKey)
      if (shared !== undefined) return shared
      const check = resolveIssuer(token, issuers)
      if (check.kind === 'known') return check.verdict
      const flight = ask(key, kind, check, names).finally(() => {
        if (flights.get(flightKey) === flight) flights.delete(flightKey)
      })
      flights.set(flightKey, flight)
      return flight
    },
    revoke(revocation, issuer) {
      revoked.add(revocation, issuer, nowMs() / 1_000)
      if (revocation.grant !== undefined) cache.dropGrant(revocation.grant)
    },
    isRevoked: (caller) => revoked.has(caller),
    clear,
  }
}
