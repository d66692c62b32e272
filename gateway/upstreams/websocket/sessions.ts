import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { createTokenRechecks, type OpenSession, type TokenRechecksOptions } from './token-rechecks.ts'

export type WebsocketSessionsOptions = TokenRechecksOptions & {
  readonly maxSessions: number
  readonly maxSessionsPerCaller: number
  /** Interval of rechecks for tokens whose revocations do not arrive. Milliseconds. */
  readonly recheckMs: number
  /** Returns whether each revocation of the caller's token arrives immediately. */
  readonly isPushed: (caller: Caller) => boolean
  readonly nowMs: () => number
}

/** A reserved slot for a session. Call `release()` when the session is over, or if the slot is not used. */
export type SessionSlot = {
  /** Registers the open session. The registry closes the session when its token expires or is revoked. */
  opened(open: OpenSession): void
  release(): void
}

export type WebsocketSessions = {
  readonly size: number
  /**
   * Reserves a slot. `caller` identifies the caller for `maxSessionsPerCaller`.
   * @returns the slot, or a rejection if a limit is reached.
   */
  reserve(caller: string): SessionSlot | Rejection
  /** Closes the sessions of revoked tokens, with code 1008. */
  revoke(isRevoked: (caller: Caller) => boolean): void
  /** Validates all tokens again after a revocation gap. */
  recheck(): void
  /** Closes all current and later sessions with code 1001. Resolves when the last session is over. */
  drain(): Promise<void>
  close(): void
}

/** Close codes of RFC 6455 section 7.4.1. */
const POLICY_VIOLATION = 1008
const GOING_AWAY = 1001
const RETRY_AFTER_SECONDS = 5
/** Longest delay that a timer accepts. Milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647

/**
 * Creates the registry of WebSocket sessions. The registry enforces the limits, and closes sessions whose tokens expire
 * or are revoked.
 */
export function createWebsocketSessions(options: WebsocketSessionsOptions): WebsocketSessions {
  const { maxSessions, maxSessionsPerCaller, nowMs } = options
  const rechecks = createTokenRechecks(options)
  const sessions = new Map<OpenSession, NodeJS.Timeout | undefined>()
  const ofCaller = new Map<string, number>()
  let slots = 0
  let draining = false
  const drained = Promise.withResolvers<void>()

  function reserve(caller: string): SessionSlot | Rejection {
    const held = ofCaller.get(caller) ?? 0
    if (slots >= maxSessions) return { rejected: 'overloaded', retryAfterSeconds: RETRY_AFTER_SECONDS }
    if (held >= maxSessionsPerCaller)
      return {
        rejected: 'sessions_exhausted',
        limit: maxSessionsPerCaller,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }
    slots += 1
    ofCaller.set(caller, held + 1)
    let opened: OpenSession | undefined
    let left = false
    return {
      opened(open) {
        opened = open
        sessions.set(open, undefined)
        expireLater(open)
        // A revocation may have arrived during the handshake of the upstream. The session did not exist at that time,
        // so the revocation could not close the session.
        rechecks.recheckNow(open)
        if (draining) open.session.close(GOING_AWAY, 'going away')
      },
      release() {
        if (left) return
        left = true
        slots -= 1
        const others = (ofCaller.get(caller) ?? 1) - 1
        if (others === 0) ofCaller.delete(caller)
        else ofCaller.set(caller, others)
        if (opened === undefined) return
        rechecks.remove(opened)
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
      // The wall clock may have changed since the expiry timer was set.
      if (identity === undefined || closeExpired(open)) continue
      if (!options.isPushed(identity.caller) || rechecks.isUnconfirmed(open)) rechecks.add(open)
    }
  }, options.recheckMs).unref()

  return {
    get size() {
      return sessions.size
    },
    reserve,
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
