import { LRUCache } from 'lru-cache'
import { networkOf } from '../../runtime/network-of.ts'

/** How many clients one address may register within a window. */
export type RegistrationRate = { readonly perAddress: number; readonly windowMs: number }

/** Holds a flood of registrations back, in this process. */
export type RegistrationLimit = {
  /** Counts a registration that is about to be made. @returns how long to wait, or undefined to go on. */
  take(address: string): { readonly retryAfterSeconds: number } | undefined
}

type Window = { count: number; readonly endsAtMs: number }

const MAX_ADDRESSES = 50_000 // some 5 MB; the least recently used leave

/** Counts registrations for each address: anybody may register, so the store must not fill as fast as anybody sends. */
export function createRegistrationLimit(rate: RegistrationRate, nowMs: () => number): RegistrationLimit {
  const windows = new LRUCache<string, Window>({ max: MAX_ADDRESSES })
  const open = (key: string): Window => {
    const found = windows.get(key)
    if (found !== undefined && found.endsAtMs > nowMs()) return found
    const fresh = { count: 0, endsAtMs: nowMs() + rate.windowMs }
    windows.set(key, fresh)
    return fresh
  }
  return {
    take: (address) => {
      const window = open(networkOf(address))
      if (window.count >= rate.perAddress)
        return { retryAfterSeconds: Math.max(1, Math.ceil((window.endsAtMs - nowMs()) / 1_000)) }
      window.count += 1
      return undefined
    },
  }
}
