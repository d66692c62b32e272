import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { TokenFault } from '../../../policy-engine/decide/rejection.ts'

/** The status of a token, for every route. The status holds claims, never a decision. */
export type TokenStatus =
  | { readonly active: true; readonly caller: Caller }
  | { readonly active: false; readonly fault: TokenFault }

/** A token status, and how long it may be cached. */
export type IntrospectionResult = {
  readonly status: TokenStatus
  /** Time since the request to the issuer. Another gateway may have sent the request. Milliseconds. */
  readonly ageMs: number
  /**
   * Maximum time for which the status may be used after that request. Infinity for a JWT that the gateway verified
   * itself. Milliseconds.
   */
  readonly ttlMs: number
}
