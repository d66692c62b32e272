import { LRUCache } from 'lru-cache'
import { ipPrefix } from '../../platform/net/ip-prefix.ts'
import { normalizeUsername } from '../accounts/normalize-username.ts'

/** Limits for failed sign-ins within a window. */
export type SignInLimits = {
  readonly failuresPerAccount: number
  readonly failuresPerAddress: number
  readonly windowMs: number
}

/** A rejected attempt. `isFirst`: the first one of its window. */
export type ThrottledAttempt = { readonly retryAfterSeconds: number; readonly isFirst: boolean }

/** Limits password guessing, in this process. */
export type SignInThrottle = {
  /** Checks an attempt without counting it. */
  check(username: string, address: string): ThrottledAttempt | undefined
  /**
   * Counts an attempt. Call it before the password check.
   * @returns undefined when the attempt is allowed.
   */
  attempt(username: string, address: string): ThrottledAttempt | undefined
  /** Removes the attempts on this account from this address, after a correct password. */
  succeeded(username: string, address: string): void
}

type Window = { count: number; hasRejected: boolean; readonly endsAtMs: number }

const MAX_ENTRIES = 50_000 // about 10 MB; the per-address limit prevents one address from filling it

/**
 * Counts attempts for each account and address together, and for each address. Other addresses can still sign in to the
 * account, so one person cannot lock out another.
 * Memory: at most 100,000 windows; the caches evict the least recently used.
 */
export function createSignInThrottle(limits: SignInLimits, nowMs: () => number): SignInThrottle {
  const pairs = new LRUCache<string, Window>({ max: MAX_ENTRIES })
  const addresses = new LRUCache<string, Window>({ max: MAX_ENTRIES })

  const open = (windows: LRUCache<string, Window>, key: string): Window => {
    const found = windows.get(key)
    if (found !== undefined && found.endsAtMs > nowMs()) return found
    const fresh = { count: 0, hasRejected: false, endsAtMs: nowMs() + limits.windowMs }
    windows.set(key, fresh)
    return fresh
  }
  const openBoth = (username: string, address: string) => ({
    pair: open(pairs, pairKey(username, address)),
    all: open(addresses, ipPrefix(address)),
  })
  const check: SignInThrottle['check'] = (username, address) => {
    const { pair, all } = openBoth(username, address)
    const full =
      pair.count >= limits.failuresPerAccount
        ? pair
        : all.count >= limits.failuresPerAddress
          ? all
          : undefined
    if (full === undefined) return undefined
    const isFirst = !full.hasRejected
    full.hasRejected = true
    return { retryAfterSeconds: Math.ceil((full.endsAtMs - nowMs()) / 1_000), isFirst }
  }
  return {
    check,
    attempt: (username, address) => {
      const throttled = check(username, address)
      if (throttled !== undefined) return throttled
      const { pair, all } = openBoth(username, address)
      pair.count += 1
      all.count += 1
      return undefined
    },
    succeeded: (username, address) => {
      pairs.delete(pairKey(username, address))
      const all = addresses.get(ipPrefix(address))
      if (all !== undefined && all.count > 0) all.count -= 1
    },
  }
}

function pairKey(username: string, address: string): string {
  return `${ipPrefix(address)} ${normalizeUsername(username) ?? ''}`
}
