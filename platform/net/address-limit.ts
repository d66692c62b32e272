import { createBoundedCache } from '../bounded-cache.ts'
import { ipPrefix } from './ip-prefix.ts'

export type AddressRate = { readonly perAddress: number; readonly windowMs: number }

/** Limits the request rate of each address, in this process. */
export type AddressLimit = {
  /**
   * Counts a request.
   * @returns the time to wait, or undefined when the request is within the limit.
   */
  take(address: string): { readonly retryAfterSeconds: number } | undefined
}

type Window = { count: number; readonly endsAtMs: number }

const MAX_ADDRESSES = 50_000 // uses about 5 MB; a full cache evicts the least recently used address

/** Creates a limit with windows of fixed length. A /64 of IPv6 counts as one address. */
export function createAddressLimit(rate: AddressRate, nowMs: () => number): AddressLimit {
  const windows = createBoundedCache<Window>(MAX_ADDRESSES)
  const open = (key: string): Window => {
    const found = windows.get(key)
    if (found !== undefined && found.endsAtMs > nowMs()) return found
    const fresh = { count: 0, endsAtMs: nowMs() + rate.windowMs }
    windows.set(key, fresh)
    return fresh
  }
  return {
    take: (address) => {
      const window = open(ipPrefix(address))
      if (window.count >= rate.perAddress)
        return { retryAfterSeconds: Math.max(1, Math.ceil((window.endsAtMs - nowMs()) / 1_000)) }
      window.count += 1
      return undefined
    },
  }
}
