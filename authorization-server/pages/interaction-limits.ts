import type { SignInLimits } from '../sign-in/sign-in-throttle.ts'

export type InteractionLimits = {
  readonly bodyLimitBytes: number
  readonly signIn: SignInLimits
  /** Maximum number of concurrent password hashes, and of sign-ins that wait for a hash. */
  readonly passwordHashes: { readonly maxConcurrent: number; readonly maxQueue: number }
}

export const INTERACTION_LIMITS: InteractionLimits = {
  bodyLimitBytes: 16 * 1024,
  signIn: { failuresPerAccount: 10, failuresPerAddress: 100, windowMs: 5 * 60_000 },
  passwordHashes: { maxConcurrent: 2, maxQueue: 32 }, // the server needs about two seconds for a full queue
}
