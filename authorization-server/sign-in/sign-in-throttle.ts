import { LRUCache } from 'lru-cache'
import { networkOf } from '../../runtime/network-of.ts'
import { normaliseUsername } from '../accounts/normalise-username.ts'

/** How often somebody may fail within a window. */
export type SignInLimits = {
  readonly failuresPerAccount: number
  readonly failuresPerAddress: number
  readonly windowMs: number
}

/** Slows down guessing, in this process. */
export type SignInThrottle = {
  /** Counts an attempt before the password is looked at. @returns how long to wait, or undefined to go on. */
  attempt(username: string, address: string): { readonly retryAfterSeconds: number } | undefined
  /** The password was right: the attempts on this account from this address are forgotten. */
  succeeded(username: string, address: string): void
}

type Window = { count: number; readonly endsAtMs: number }

const MAX_ENTRIES = 50_000 // some 10 MB; the per-address limit keeps one address from filling it

/**
 * Counts attempts for each account and address together, and for each address. An account is never locked for
 * other addresses, so nobody can lock somebody else out.
 * Memory: at most 100,000 windows; the least recently used leave.
 */
export function createSignInThrottle(limits: SignInLimits, nowMs: () => number): SignInThrottle {
  const pairs = new LRUCache<string, Window>({ max: MAX_ENTRIES })
  const addresses = new LRUCache<string, Window>({ max: MAX_ENTRIES })

  const open = (windows: LRUCache<string, Window>, key: string): Window => {
    const found = windows.get(key)
    if (found !== undefined && found.endsAtMs > nowMs()) return found
    const fresh = { count: 0, endsAtMs: nowMs() + limits.windowMs }
    windows.set(key, fresh)
    return fresh
  }
  return {
    attempt: (username, address) => {
      const pair = open(pairs, pairKey(username, address))
      const all = open(addresses, networkOf(address))
      const full =
        pair.count >= limits.failuresPerAccount
          ? pair
          : all.count >= limits.failuresPerAddress
            ? all
            : undefined
      if (full !== undefined) return { retryAfterSeconds: Math.ceil((full.endsAtMs - nowMs()) / 1_000) }
      pair.count += 1
      all.count += 1
      return undefined
    },
    succeeded: (username, address) => {
      pairs.delete(pairKey(username, address))
      const all = addresses.get(networkOf(address))
      if (all !== undefined && all.count > 0) all.count -= 1
    },
  }
}

function pairKey(username: string, address: string): string {
  return `${networkOf(address)} ${normaliseUsername(username) ?? ''}`
}
