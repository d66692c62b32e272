import type { SignInLimits } from '../sign-in/sign-in-throttle.ts'

/** What the pages hold against floods. */
export type InteractionLimits = {
  readonly bodyLimitBytes: number
  readonly signIn: SignInLimits
  /** Password hashes computed at once, and sign-ins that may wait for their turn. */
  readonly passwordHashes: { readonly atOnce: number; readonly waiting: number }
}

/** The limits unless the operator sets others. */
export const INTERACTION_LIMITS: InteractionLimits = {
  bodyLimitBytes: 16 * 1024,
  signIn: { failuresPerAccount: 10, failuresPerAddress: 100, windowMs: 5 * 60_000 },
  passwordHashes: { atOnce: 2, waiting: 32 }, // a full queue is some two seconds of work
}
