import { hash, timingSafeEqual } from 'node:crypto'

const PREFIX = 'sha256.'

/**
 * Hashes a client secret for storage. Returns an existing hash unchanged.
 * A SHA-256 hash without salt is enough for random secrets. This server generates secrets with 256 random bits, and the
 * operator generates the configured secrets.
 */
export function hashClientSecret(secret: string): string {
  return secret.startsWith(PREFIX) ? secret : PREFIX + hash('sha256', secret, 'base64url')
}

/** Compares a secret with the stored hash in constant time. */
export function matchesClientSecret(presented: string, stored: string | undefined): boolean {
  if (stored === undefined) return false
  const expected = Buffer.from(stored)
  const actual = Buffer.from(PREFIX + hash('sha256', presented, 'base64url'))
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

/** Compares a secret with each of the stored hashes in constant time. */
export function matchesAnySecret(presented: string, stored: readonly string[]): boolean {
  return stored.filter((one) => matchesClientSecret(presented, one)).length > 0
}
