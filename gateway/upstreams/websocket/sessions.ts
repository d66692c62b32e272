import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { ClaimSelection } from '../../../policy-engine/decide/named-claims.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { WebsocketSession } from './session.ts'
import { createTokenRechecks, type TokenRechecksOptions } from './token-rechecks.ts'

/** A session and what it depends on. */
export type OpenSession = {
  readonly session: WebsocketSession
  /** undefined: nobody; such a session depends on no token. */
  readonly identity:
    | {
        readonly token: string
        /** Whose tokens are good for it. */
        readonly issuers: readonly string[]
        /** Which claims of it count; unless given, none. */
        readonly wanted?: ClaimSelection
        readonly caller: Caller
        /** Whether a caller may still do what this one was allowed. */
        readonly mayStay: (caller: Caller) => boolean
      }
    | undefined
}

/** How many sessions there may be, and what says whether they may stay. `nowMs` is the wall clock. */
export type WebsocketSessionsOptions = TokenRechecksOptions & {
  readonly maxSessions: number
  readonly maxSessionsPerCaller: number
  /** Where revocations do not arrive, tokens are asked about again this often. Milliseconds. */
  readonly recheckMs: number
  /** Whether revocations of an issuer arrive right now. */
  readonly pushed: (issuer: string) => boolean
  readonly nowMs: () => number
}

/** A place among the sessions; given back when it is not used, or when the session is over. */
export type SessionPlace = {
  /** The session is open: from now on it ends with its token. */
  opened(open: OpenSession): void
  leave(): void
}

/** Every open WebSocket session of this process. */
export type WebsocketSessions = {
  readonly size: number
  /** @returns a place, or why there is none. `caller` names who is counted. */
  enter(caller: string): SessionPlace | Refusal
  /** Closes the sessions of revoked tokens, with code 1008. */
  revoke(isRevoked: (caller: Caller) => boolean): void
  /** Asks about every token again: revocations may have been missed. */
  recheck(): void
  /** Closes all of them with code 1001, and every one that is opened later. Resolves when the last one is over. */
  drain(): Promise<void>
  close(): void
}

/** RFC 6455 section 7.4.1: the session breaks a policy. */
const POLICY_VIOLATION = 1008
const GOING_AWAY = 1001
const RETRY_AFTER_SECONDS = 5
/** Timers take no more. Milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647

/** Keeps the sessions: how many, whose, and until when. */
export function createWebsocketSessions(options: WebsocketSessionsOptions): WebsocketSessions {
  const { maxSessions, maxSessionsPerCaller, nowMs } = options
  const rechecks = createTokenRechecks(options)
  const sessions = new Map<OpenSession, NodeJS.Timeout | undefined>()
  const ofCaller = new Map<string, number>()
  let places = 0
  let draining = false
  const drained = Promise.withResolvers<void>()

  function enter(caller: string): SessionPlace | Refusal {
    const held = ofCaller.get(caller) ?? 0
    if (places >= maxSessions) return { refused: 'overloaded', retryAfterSeconds: RETRY_AFTER_SECONDS }
    if (held >= maxSessionsPerCaller)
      return {
        refused: 'sessions_exhausted',
        limit: maxSessionsPerCaller,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }
    places += 1
    ofCaller.set(caller, held + 1)
    let opened: OpenSession | undefined
    let left = false
    return {
      opened(open) {
        opened = open
        sessions.set(open, undefined)
        expireLater(open)
        // What was revoked while the upstream made up its mind met no session that could be closed.
        rechecks.addNow(open)
        if (draining) open.session.close(GOING_AWAY, 'going away')
      },
      leave() {
        if (left) return
        left = true
        places -= 1
        const others = (ofCaller.get(caller) ?? 1) - 1
        if (others === 0) ofCaller.delete(caller)
        else ofCaller.set(caller, others)
        if (opened === undefined) return
        rechecks.forget(opened)
        clearTimeout(sessions.get(opened))
        sessions.delete(opened)
        if (draining && sessions.size === 0) drained.resolve()
      },
    }
  }

  function closeExpired({ session, identity }: OpenSession): boolean {
    if (identity === undefined || identity.caller.expiresAtSeconds * 1_000 > nowMs()) return false
    session.close(POLICY_VIOLATION, 'token expired')
    return true
  }

  function expireLater(open: OpenSession): void {
    if (open.identity === undefined || closeExpired(open)) return
    const leftMs = open.identity.caller.expiresAtSeconds * 1_000 - nowMs()
    sessions.set(
      open,
      setTimeout(() => expireLater(open), Math.min(leftMs, LONGEST_TIMER_MS)),
    )
  }

  function recheck(): void {
    for (const open of sessions.keys()) rechecks.add(open)
  }

  const timer = setInterval(() => {
    for (const open of sessions.keys()) {
      const { identity } = open
      // The wall clock may have been set since the timer was.
      if (identity === undefined || closeExpired(open)) continue
      if (!options.pushed(identity.caller.issuer) || rechecks.isInDoubt(open)) rechecks.add(open)
    }
  }, options.recheckMs).unref()

  return {
    get size() {
      return sessions.size
    },
    enter,
    revoke(isRevoked) {
      for (const { session, identity } of sessions.keys())
        if (identity !== undefined && isRevoked(identity.caller))
          session.close(POLICY_VIOLATION, 'token revoked')
    },
    recheck,
    drain() {
      draining = true
      for (const { session } of sessions.keys()) session.close(GOING_AWAY, 'going away')
      if (sessions.size === 0) drained.resolve()
      return drained.promise
    },
    close: () => clearInterval(timer),
  }
}
