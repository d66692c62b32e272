import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { ClaimSelection } from '../../../policy-engine/decide/named-claims.ts'
import type { TokenValidator } from '../../tokens/cache/token-validator.ts'
import { isOutage } from '../../tokens/introspection/introspection-error.ts'
import type { WebsocketSession } from './session.ts'

export type OpenSession = {
  readonly session: WebsocketSession
  /** `undefined`: the caller is anonymous, so the session does not depend on a token. */
  readonly identity:
    | {
        readonly token: string
        /** Issuers whose tokens the route accepts. */
        readonly issuers: readonly string[]
        /** Claims to select from the token. Default: no claims. */
        readonly claims?: ClaimSelection
        readonly caller: Caller
        /** Returns whether the caller still has access. The claims may differ after a recheck. */
        readonly hasAccess: (caller: Caller) => boolean
      }
    | undefined
}

export type TokenRechecksOptions = {
  readonly validate: TokenValidator['validate']
  /** Longest time that a session stays open while its token cannot be validated. Milliseconds. */
  readonly graceMs: number
  /** Additional time while the issuer of the token cannot respond. Milliseconds. */
  readonly staleIfErrorMs: (identity: { readonly token: string; readonly caller: Caller }) => number
  readonly tickMs: () => number
}

/** Validates the tokens of open sessions again, and closes sessions that have lost access. */
export type TokenRechecks = {
  add(open: OpenSession): void
  recheckNow(open: OpenSession): void
  /** Returns whether the last validation had no current result and must be repeated. */
  isUnconfirmed(open: OpenSession): boolean
  remove(open: OpenSession): void
}

/**
 * Maximum number of concurrent rechecks. A limit is necessary, so that requests do not wait for the rechecks of
 * thousands of sessions.
 */
const MAX_CONCURRENT = 16

/** Close codes of RFC 6455 section 7.4.1. */
const POLICY_VIOLATION = 1008
const INTERNAL_ERROR = 1011

export function createTokenRechecks(options: TokenRechecksOptions): TokenRechecks {
  const { validate, tickMs } = options
  const due = new Set<OpenSession>()
  /** Time of the first validation without a current result, by session. */
  const unconfirmedSinceMs = new WeakMap<OpenSession, number>()
  let working = 0

  /**
   * Records that a session needs another validation. Returns the time of the first validation without a current result.
   */
  function markUnconfirmed(open: OpenSession, startedMs: number): number {
    const sinceMs = unconfirmedSinceMs.get(open) ?? startedMs
    unconfirmedSinceMs.set(open, sinceMs)
    return sinceMs
  }

  async function recheck(open: OpenSession): Promise<void> {
    const { session, identity } = open
    if (identity === undefined) return
    const startedMs = tickMs()
    try {
      const { token, issuers, claims, caller } = identity
      const status = await validate(token, issuers, claims, caller.issuer)
      if (status.active && status.isStale === true) markUnconfirmed(open, startedMs)
      else unconfirmedSinceMs.delete(open)
      if (!status.active) session.close(POLICY_VIOLATION, 'token no longer valid')
      else if (!identity.hasAccess(status.caller)) session.close(POLICY_VIOLATION, 'no longer allowed')
    } catch (error) {
      // The validation had no result. A short outage of the issuer must not close sessions. A long outage must not keep
      // sessions with revoked tokens open.
      const sinceMs = markUnconfirmed(open, startedMs)
      const moreMs = isOutage(error) ? options.staleIfErrorMs(identity) : 0
      if (tickMs() - sinceMs >= options.graceMs + moreMs)
        session.close(INTERNAL_ERROR, 'token cannot be checked')
    }
  }

  async function work(): Promise<void> {
    working += 1
    for (const open of due) {
      due.delete(open)
      await recheck(open)
    }
    working -= 1
  }

  return {
    add(open) {
      due.add(open)
      if (working < MAX_CONCURRENT) void work()
    },
    recheckNow: (open) => void recheck(open),
    isUnconfirmed: (open) => unconfirmedSinceMs.has(open),
    remove(open) {
      due.delete(open)
      unconfirmedSinceMs.delete(open)
    },
  }
}
