import { createSharedThrottle } from '../sign-in/shared-throttle.ts'
import type { ThrottledAttempt } from '../sign-in/sign-in-throttle.ts'
import type { AttemptCounters } from '../store/store.ts'

/** Limits the wrong codes of each account, over all addresses and servers. */
export type CodeThrottle = {
  /** Counts an attempt. Call this method before the check of the code. */
  attempt(accountId: string): Promise<ThrottledAttempt | undefined>
  succeeded(accountId: string): Promise<void>
}

/**
 * Maximum number of wrong codes of one account in a window. At any time, three of a million codes are valid. An
 * attacker with the password therefore finds a code in a day with a probability below 0.3 %. Only a person with the
 * password can use up the attempts of an account.
 */
const WRONG_CODES = 10
const WINDOW_MS = 15 * 60_000

export function createCodeThrottle(options: {
  readonly counters: AttemptCounters | undefined
  readonly nowMs: () => number
}): CodeThrottle {
  const throttle = createSharedThrottle({
    ...options,
    purpose: 'second factor',
    limits: { failuresPerAccount: WRONG_CODES, failuresPerAddress: WRONG_CODES, windowMs: WINDOW_MS },
  })
  // The account ID replaces the address, so that attempts from all addresses count together.
  return {
    attempt: (accountId) => throttle.attempt('', accountId),
    succeeded: (accountId) => throttle.succeeded('', accountId),
  }
}
