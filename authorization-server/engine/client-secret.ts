import { hash, timingSafeEqual } from 'node:crypto'

const PREFIX = 'sha256.'

/**
 * What is stored in place of a client secret. Secrets are made here with 256 random bits, so a plain hash is enough:
 * there is nothing to guess. Hashing a hash gives it back unchanged.
 */
export function hashClientSecret(secret: string): string {
  return secret.startsWith(PREFIX) ? secret : PREFIX + hash('sha256', secret, 'base64url')
}

/** Compares a presented secret with the stored hash in constant time. */
export function matchesClientSecret(presented: string, stored: string | undefined): boolean {
  if (stored === undefined) return false
  const expected = Buffer.from(stored)
  const actual = Buffer.from(PREFIX + hash('sha256', presented, 'base64url'))
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}
