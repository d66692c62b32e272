import { hash } from 'node:crypto'
import type { Revocation } from '../../../oauth/revocation.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type ClaimNames,
  type ClaimSelection,
  EMPTY_CLAIM_SELECTION,
  hasClaims,
} from '../../../policy-engine/decide/named-claims.ts'
import type { Issuer } from '../issuer.ts'
import { resolveIssuer, type TokenCheck } from '../resolve-issuer.ts'
import { createRevokedTokens } from '../revocation/revoked-tokens.ts'
import type { StaleEntry, TokenCache } from './token-cache.ts'
import { type TokenKind, tokenKind } from './token-kind.ts'
import type { ActiveStatus, EarlierStatus, TokenStatus } from './token-status.ts'

/** Options for `createTokenValidator()`. The functions of `issuers` reject when a token status cannot be determined. */
export type TokenValidatorOptions = {
  /** Issuers whose tokens at least one resource accepts. */
  readonly issuers: readonly Issuer[]
  readonly cache: TokenCache
  /** The wall clock, which token expiry uses. Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** A monotonic clock, which the age of cache entries uses. Milliseconds. */
  readonly tickMs: () => number
  /** Calls back once after a delay in milliseconds, and returns a function that cancels the call. */
  readonly after: (delayMs: number, call: () => void) => () => void
  readonly observe: { hit(kind: TokenKind): void; miss(kind: TokenKind): void }
}

export type TokenValidator = {
  /**
   * Returns the status in the cache. A cached status without a needed claim is not used.
   * @param issuers the array that `check()` gets.
   * @param wanted claims that policies use. Default: none.
   */
  cached(token: string, issuers: readonly string[], wanted?: ClaimSelection): TokenStatus | undefined
  /**
   * Determines the status of a token that is not in the cache. Concurrent calls with one token share one lookup. While
   * the issuer cannot respond, the status of an earlier check is used (`isStale`), within `staleIfError`.
   * @param issuers identifiers of the issuers that the resource accepts, in the order of introspection. Pass the same
   * array each time. The status depends on all issuers of the array, so the cache key includes all issuers.
   * @param wanted claims that policies use. Default: none.
   * @param issuer the issuer that reported the token as active before. Without a cached status, the gateway queries
   * this issuer first. If this issuer reports the token as inactive, failures of other issuers have no effect. Default:
   * not known.
   * @param requestId ID of the request, for the issuer and the log. A shared lookup has the ID of its first call.
   * @throws {UnverifiableError} by rejection, when the status cannot be determined.
   */
  check(
    token: string,
    issuers: readonly string[],
    wanted?: ClaimSelection,
    issuer?: string,
    requestId?: string,
  ): TokenStatus | Promise<TokenStatus>
  /** Returns the cached status, or else the result of `check()`. */
  validate: TokenValidator['check']
  /**
   * Rejects revoked tokens from now on, including tokens whose validation is in progress.
   * @param issuer sender of the message, for a revocation that names no issuer.
   */
  revoke(revocation: Revocation, issuer?: string): void
  /** Returns whether this process has received a revocation that applies to this caller. */
  isRevoked(caller: Caller): boolean
  /**
   * Ends the cache time of every status after a revocation gap. A status is then used again only after a new check, or
   * while its issuer cannot respond.
   */
  expire(): void
}

/** The issuers of one resource, and an ID of the whole set. */
type IssuerSet = { readonly issuers: readonly Issuer[]; readonly id: string }

type UncachedCheck = Exclude<TokenCheck, { readonly kind: 'known' }>

/** A lookup in progress, which concurrent calls share. */
type Flight = {
  readonly result: Promise<TokenStatus>
  readonly startedMs: number
  /** The promise for calls that wait for the result of the lookup. */
  awaited: Promise<TokenStatus> | undefined
  /** The promise for calls with an earlier status. Resolves to the earlier status if the lookup takes too long. */
  impatient: Promise<TokenStatus> | undefined
}

/** Interval between two checks of a token while its issuer cannot respond. Milliseconds. */
const RETRY_MS = 1_000

const INACTIVE: TokenStatus = { active: false, fault: { reason: 'inactive' } }

function isEnough(status: TokenStatus, needed: ClaimNames): boolean {
  return needed.length === 0 || !status.active || hasClaims(status.caller.claims, needed)
}

/** Creates a validator that caches token statuses. Concurrent lookups of one token share one call to the issuer. */
export function createTokenValidator(options: TokenValidatorOptions): TokenValidator {
  const { cache, nowMs, tickMs } = options
  const chosen = new WeakMap<readonly string[], IssuerSet>()
  const flights = new Map<string, Flight>()
  // After the eviction of a revocation, the gateway cannot determine its tokens, so no earlier status may be used.
  const revoked = createRevokedTokens({
    onEvicted() {
      startOver()
      cache.clear()
    },
  })
  /** Issuers that did not respond to the last check in time. */
  const silent = new Set<string>()
  // Number of `startOver()` calls. If a validation began before the last call, the validator does not store the result.
  let starts = 0
  let startedOverAtMs = Number.NEGATIVE_INFINITY

  /**
   * Returns the issuers of a resource. Caches the result by the array of names. Each resource has one array, so the
   * number of results is small.
   */
  function issuerSet(names: readonly string[]): IssuerSet {
    const known = chosen.get(names)
    if (known !== undefined) return known
    const issuers = names.flatMap((name) => options.issuers.find(({ issuer }) => issuer === name) ?? [])
    const set = { issuers, id: issuers.map(({ id }) => id).join(' ') }
    chosen.set(names, set)
    return set
  }

  /** Ends the use of results from before this call, except while an issuer cannot respond. */
  function startOver(): void {
    starts += 1
    startedOverAtMs = tickMs()
    // Later calls start a new lookup. Calls that already wait still get the result of the earlier lookup.
    flights.clear()
  }

  async function runCheck(
    key: string,
    kind: TokenKind,
    check: UncachedCheck,
    names: ClaimNames,
    known: string | undefined,
    requestId: string | undefined,
  ): Promise<TokenStatus> {
    const startedAt = starts
    const at = { tickMs: tickMs(), nowMs: nowMs(), kind }
    const earlier = earlierStatus(key, names, known)
    const result = await check.validate(at.tickMs - startedOverAtMs, names, earlier, requestId)
    const { status } = result
    // A revocation may have arrived during the validation. The signature of a revoked token is still valid.
    if (status.active && revoked.has(status.caller)) return INACTIVE
    if (status.active && status.isStale === true) {
      silent.add(status.caller.issuer)
      if (starts === startedAt && !cache.keepStale(key, result, at, tickMs() + RETRY_MS)) return INACTIVE
    } else if (starts === startedAt) cache.set(key, result, at)
    return status
  }

  /** Returns the earlier status of a token if the status has all claims and the token has not expired. */
  function findStale(key: string, names: ClaimNames): StaleEntry | undefined {
    const entry = cache.stale(key, tickMs())
    if (entry === undefined || !isEnough(entry.status, names)) return undefined
    return entry.status.caller.expiresAtSeconds * 1_000 > nowMs() ? entry : undefined
  }

  function earlierStatus(key: string, names: ClaimNames, known: string | undefined): EarlierStatus {
    const findFrom = (issuer: string): ActiveStatus | undefined => {
      const status = findStale(key, names)?.status
      return status?.caller.issuer === issuer ? { ...status, isStale: true } : undefined
    }
    return {
      issuer: known ?? cache.stale(key, tickMs())?.status.caller.issuer,
      mayBeShared: true,
      find: findFrom,
      responded: (issuer) => silent.delete(issuer),
      discard(issuer) {
        if (cache.stale(key, tickMs())?.status.caller.issuer === issuer) cache.drop(key)
      },
    }
  }

  function staleUseOf({ caller }: ActiveStatus): Issuer['stale'] {
    return options.issuers.find(({ issuer }) => issuer === caller.issuer)?.stale
  }

  function useStale(status: ActiveStatus): TokenStatus {
    if (revoked.has(status.caller)) return INACTIVE
    staleUseOf(status)?.used()
    return { active: true, caller: status.caller, isStale: true }
  }

  function startFlight(flightKey: string, lookup: Promise<TokenStatus>): Flight {
    const startedMs = tickMs()
    const result = lookup.finally(() => {
      if (flights.get(flightKey) === flight) flights.delete(flightKey)
    })
    const flight: Flight = { result, startedMs, awaited: undefined, impatient: undefined }
    flights.set(flightKey, flight)
    return flight
  }

  /**
   * Returns the result of a lookup. Counts the use of an earlier status, and returns inactive if its token was revoked.
   */
  function wait(flight: Flight): Promise<TokenStatus> {
    flight.awaited ??= flight.result.then((status) =>
      status.active && status.isStale === true ? useStale(status) : status,
    )
    return flight.awaited
  }

  /** Returns the result of a lookup, or the earlier status if the lookup takes too long. */
  function waitBriefly(
    flight: Flight,
    patienceMs: number,
    find: () => StaleEntry | undefined,
  ): Promise<TokenStatus> {
    flight.impatient ??= new Promise((resolve, reject) => {
      let isOver = false
      const cancel = options.after(Math.max(0, flight.startedMs + patienceMs - tickMs()), () => {
        const entry = find()
        if (entry === undefined) return
        silent.add(entry.status.caller.issuer)
        isOver = true
        resolve(useStale(entry.status))
      })
      const end = (): void => {
        cancel()
        if (!isOver) wait(flight).then(resolve, reject)
      }
      flight.result.then(end, end)
    })
    return flight.impatient
  }

  const validator: TokenValidator = {
    cached(token, of, { needed } = EMPTY_CLAIM_SELECTION) {
      const cached = cache.get(tokenKey(issuerSet(of).id, token), tickMs())
      if (cached === undefined || !isEnough(cached, needed)) return undefined
      options.observe.hit(tokenKind(token))
      return cached.active && revoked.has(cached.caller) ? INACTIVE : cached
    },
    check(token, of, { names } = EMPTY_CLAIM_SELECTION, issuer, requestId) {
      const { issuers, id } = issuerSet(of)
      const key = tokenKey(id, token)
      const kind = tokenKind(token)
      options.observe.miss(kind)
      // Two calls share a lookup only if both read the same claims. The claims can differ only for a short time after a
      // reload of the policies. The known issuer has an effect only if there are several issuers.
      const known = issuers.length > 1 ? issuer : undefined
      const flightKey =
        names.length === 0 && known === undefined ? key : [key, known ?? '', ...names].join('\n')
      const earlier = findStale(key, names)
      if (earlier !== undefined && tickMs() < earlier.retryAtMs) return useStale(earlier.status)
      let flight = flights.get(flightKey)
      if (flight === undefined) {
        const check = resolveIssuer(token, issuers)
        if (check.kind === 'known') return check.status
        flight = startFlight(flightKey, runCheck(key, kind, check, names, known, requestId))
      }
      const patienceMs = earlier && staleUseOf(earlier.status)?.patienceMs
      if (earlier === undefined || patienceMs === undefined) return wait(flight)
      if (!silent.has(earlier.status.caller.issuer))
        return waitBriefly(flight, patienceMs, () => findStale(key, names))
      flight.result.catch(() => undefined) // logged by the issuer client; this call does not wait for the result
      return useStale(earlier.status)
    },
    validate: (token, of, wanted, issuer, requestId) =>
      validator.cached(token, of, wanted) ?? validator.check(token, of, wanted, issuer, requestId),
    revoke(revocation, issuer) {
      revoked.add(revocation, issuer, nowMs() / 1_000)
      if (revocation.grant !== undefined) cache.dropGrant(revocation.grant)
    },
    isRevoked: (caller) => revoked.has(caller),
    expire() {
      startOver()
      cache.expire(tickMs())
    },
  }
  return validator
}

/**
 * Returns the key of a token in caches and logs. The key is a hash, so a reader of a cache gets no token. The hash
 * includes the issuer's configuration: the same string from two issuers is two tokens.
 */
export function tokenKey(issuerId: string, token: string): string {
  // An issuer ID contains no line break. Two different pairs of issuer ID and token therefore never give the same
  // input. A string with one character per byte takes the least memory.
  return hash('sha256', `${issuerId}\n${token}`, 'binary')
}
