import type { LRUCache } from 'lru-cache'
import { createBoundedCache } from '../../platform/bounded-cache.ts'
import { ipPrefix } from '../../platform/net/ip-prefix.ts'
import { normalizeUsername } from '../accounts/accounts.ts'

export type SignInLimits = {
  readonly failuresPerAccount: number
  readonly failuresPerAddress: number
  readonly windowMs: number
}

/** A rejected attempt. `isFirst`: the attempt is the first rejected attempt in the time window. */
export type ThrottledAttempt = { readonly retryAfterSeconds: number; readonly isFirst: boolean }

/** Limits password guessing, in this process. See `createSharedThrottle()` for the limit over all servers. */
export type SignInThrottle = {
  /** Checks an attempt, and does not count the attempt. */
  check(username: string, address: string): ThrottledAttempt | undefined
  /**
   * Counts an attempt. Call this method before the password check.
   * @returns undefined when the attempt is allowed.
   */
  attempt(username: string, address: string): ThrottledAttempt | undefined
  /** Removes the attempts on this account from this address. Call this method after a correct password. */
  succeeded(username: string, address: string): void
}

type Window = { count: number; hasRejected: boolean; readonly endsAtMs: number }

const MAX_ENTRIES = 50_000 // uses about 10 MB

/**
 * Counts attempts for each pair of account and address, and for each address. Other addresses can still sign in to the
 * account, so one person cannot lock out another person.
 * Memory: at most 100,000 windows. The caches evict the least recently used windows.
 * Only a counted attempt opens a window. One address therefore opens at most `failuresPerAddress` windows of accounts
 * in `windowMs`. An attacker needs many addresses to evict the windows of other people.
 */
export function createSignInThrottle(limits: SignInLimits, nowMs: () => number): SignInThrottle {
  const pairs = createBoundedCache<Window>(MAX_ENTRIES)
  const addresses = createBoundedCache<Window>(MAX_ENTRIES)

  const find = (windows: LRUCache<string, Window>, key: string): Window | undefined => {
    const found = windows.get(key)
    return found !== undefined && found.endsAtMs > nowMs() ? found : undefined
  }
  const count = (windows: LRUCache<string, Window>, key: string): void => {
    const found = find(windows, key)
    if (found === undefined)
      windows.set(key, { count: 1, hasRejected: false, endsAtMs: nowMs() + limits.windowMs })
    else found.count += 1
  }
  const findFull = (windows: LRUCache<string, Window>, key: string, limit: number): Window | undefined => {
    const found = find(windows, key)
    return found !== undefined && found.count >= limit ? found : undefined
  }
  const check: SignInThrottle['check'] = (username, address) => {
    const full =
      findFull(pairs, pairKey(username, address), limits.failuresPerAccount) ??
      findFull(addresses, ipPrefix(address), limits.failuresPerAddress)
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
      count(pairs, pairKey(username, address))
      count(addresses, ipPrefix(address))
      return undefined
    },
    succeeded: (username, address) => {
      pairs.delete(pairKey(username, address))
      const all = addresses.get(ipPrefix(address))
      if (all !== undefined && all.count > 0) all.count -= 1
    },
  }
}

export function pairKey(username: string, address: string): string {
  return `${ipPrefix(address)} ${normalizeUsername(username) ?? ''}`
}
