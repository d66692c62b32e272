import type { TokenStatus } from './token-status.ts'

/** A verdict, and how long it may be remembered. */
export type IntrospectionResult = {
  readonly verdict: TokenStatus
  /** When it was asked for, before now: another gateway may have done so. Milliseconds. */
  readonly ageMs: number
  /** It is used no longer than this after it was asked for, if the issuer has a say in it; else Infinity. Milliseconds. */
  readonly ttlMs: number
}
