import { createHmac, timingSafeEqual } from 'node:crypto'

/** Signs cookies with HMAC-SHA-256. The first key signs. The other keys only verify. */
export type CookieKeys = {
  sign(data: string): string
  verify(data: string, digest: string): boolean
  /**
   * @returns the index of the key that made the digest, or -1. With an index above 0, the caller signs the cookie again
   * with the first key.
   */
  index(data: string, digest: string): number
}

/**
 * Creates the cookie keys.
 * @param keys returns at least one key, newest first. The keys may change.
 */
export function cookieKeys(keys: () => readonly string[]): CookieKeys {
  const newest = (): string => {
    const [key] = keys()
    if (key === undefined) throw new TypeError('cookieKeys() requires a key')
    return key
  }
  newest()
  const index = (data: string, digest: string): number =>
    keys().findIndex((key) => sameText(sign(data, key), digest))
  return {
    sign: (data) => sign(data, newest()),
    verify: (data, digest) => index(data, digest) >= 0,
    index,
  }
}

function sign(data: string, key: string): string {
  return createHmac('sha256', key).update(data).digest('base64url')
}

function sameText(expected: string, actual: string): boolean {
  const left = Buffer.from(expected)
  const right = Buffer.from(actual)
  return left.length === right.length && timingSafeEqual(left, right)
}
