import { createBoundedCache } from '../../platform/bounded-cache.ts'
import { type AddressLimit, type AddressRate, createAddressLimit } from '../../platform/net/address-limit.ts'

/** Limits the rate of authorization requests of each source, in this process. */
export type AuthorizationLimit = {
  /**
   * Counts a request. Skips the first use of a `request_uri` that {@link AuthorizationLimit.pushed} recorded.
   * @returns the time to wait, or undefined when the request is within the limit.
   */
  take(source: string, requestUri?: string): ReturnType<AddressLimit['take']>
  /** Stores the `request_uri` of a pushed request. The rate limit has already counted this request. */
  pushed(requestUri: string): void
}

const MAX_PUSHED = 10_000 // uses about 2 MB

/** Creates a limit that counts a pushed authorization request and its first use as one request. RFC 9126 section 4. */
export function createAuthorizationLimit(rate: AddressRate, nowMs: () => number): AuthorizationLimit {
  const limit = createAddressLimit(rate, nowMs)
  const unused = createBoundedCache<true>(MAX_PUSHED)
  return {
    take: (source, requestUri) =>
      requestUri !== undefined && unused.delete(requestUri) ? undefined : limit.take(source),
    pushed: (requestUri) => void unused.set(requestUri, true),
  }
}
