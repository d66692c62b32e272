import type { TokenValidator } from '../../tokens/cache/token-validator.ts'
import type { OpenSession } from './sessions.ts'

/** Who says whether tokens of open sessions are still good, and how long a session may stay when nobody says. */
export type TokenRechecksOptions = {
  readonly verdictOf: TokenValidator['verdictOf']
  /** A session whose token nobody can say anything about is closed after this. Milliseconds. */
  readonly doubtMs: number
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
}

/** Judges the tokens of open sessions anew, and closes the sessions that may not stay. */
export type TokenRechecks = {
  /** The session's token is judged as soon as it is its turn. */
  add(open: OpenSession): void
  /** The same, before its turn. */
  addNow(open: OpenSession): void
  /** Whether nobody could say anything about its token at the last try: it has to be tried again. */
  isInDoubt(open: OpenSession): boolean
  /** The session is over. */
  forget(open: OpenSession): void
}

/** Tokens that are asked about at once: requests must not wait behind thousands of sessions. */
const AT_ONCE = 16

/** RFC 6455 section 7.4.1: the session breaks a policy; something here keeps it from going on. */
const POLICY_VIOLATION = 1008
const INTERNAL_ERROR = 1011

export function createTokenRechecks(options: TokenRechecksOptions): TokenRechecks {
  const { verdictOf, tickMs } = options
  const due = new Set<OpenSession>()
  /** Since when. */
  const inDoubt = new WeakMap<OpenSession, number>()
  let working = 0

  async function judge(open: OpenSession): Promise<void> {
    const { session, identity } = open
    if (identity === undefined) return
    const startedMs = tickMs()
    try {
      const verdict = await verdictOf(identity.token, identity.issuers, identity.wanted)
      inDoubt.delete(open)
      if (!verdict.active) session.close(POLICY_VIOLATION, 'token revoked')
      else if (!identity.mayStay(verdict.caller)) session.close(POLICY_VIOLATION, 'no longer allowed')
    } catch {
      // Nobody can say right now. An issuer that restarts cuts nobody off; one that stays away must not keep revoked ones.
      const sinceMs = inDoubt.get(open) ?? startedMs
      inDoubt.set(open, sinceMs)
      if (tickMs() - sinceMs >= options.doubtMs) session.close(INTERNAL_ERROR, 'token cannot be checked')
    }
  }

  async function work(): Promise<void> {
    working += 1
    for (const open of due) {
      due.delete(open)
      await judge(open)
    }
    working -= 1
  }

  return {
    add(open) {
      due.add(open)
      if (working < AT_ONCE) void work()
    },
    addNow: (open) => void judge(open),
    isInDoubt: (open) => inDoubt.has(open),
    forget(open) {
      due.delete(open)
      inDoubt.delete(open)
    },
  }
}
