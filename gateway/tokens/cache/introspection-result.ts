import type { TokenStatus } from './token-status.ts'

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
