import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { TokenFault } from '../../../policy-engine/decide/rejection.ts'

/** The status of a token, for every route. The status holds claims, never a decision. */
export type TokenStatus = ActiveStatus | { readonly active: false; readonly fault: TokenFault }

export type ActiveStatus = {
  readonly active: true
  readonly caller: Caller
  /**
   * The status is from an earlier check, because the issuer cannot respond now (`staleIfError`). Absent: the status is
   * current.
   */
  readonly isStale?: true
}

/** A token status, and the time for which the status may be cached. */
export type IntrospectionResult = {
  readonly status: TokenStatus
  /** Time since the request to the issuer. Another gateway may have sent the request. Milliseconds. */
  readonly ageMs: number
  /**
   * Maximum time after the request to the issuer for which the status may be used. Infinity for a JWT that the gateway
   * verified itself. Milliseconds.
   */
  readonly ttlMs: number
  /**
   * Maximum time after `ttlMs` for which an active status may be used while the issuer cannot respond. Default: 0.
   * Milliseconds.
   */
  readonly staleIfErrorMs?: number
}

/** The earlier active status of a token whose check is in progress. */
export type EarlierStatus = {
  /** The issuer that reported the token as active at an earlier check. Undefined: not known. */
  readonly issuer: string | undefined
  /** Whether a status from another gateway may be used while the issuer cannot respond. */
  readonly mayBeShared: boolean
  /** Returns the status if the status is from this issuer and may be used while the issuer cannot respond. */
  find(issuer: string): ActiveStatus | undefined
  /** Records that the issuer responded. */
  responded(issuer: string): void
  /** Records that a status from this issuer must not be used again: the token is not active, or may be revoked. */
  discard(issuer: string): void
}

export const NO_EARLIER_STATUS: EarlierStatus = {
  issuer: undefined,
  mayBeShared: true,
  find: () => undefined,
  responded: () => undefined,
  discard: () => undefined,
}

/** Requires a current status: no status from an earlier check may be used. */
export const CURRENT_STATUS_ONLY: EarlierStatus = { ...NO_EARLIER_STATUS, mayBeShared: false }
