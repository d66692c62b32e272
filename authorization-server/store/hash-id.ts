import { hash } from 'node:crypto'

/**
 * Hashes an id for the store: base64url of its SHA-256.
 * Ids are bearer values (codes, tokens, session cookies) with at least 128 random bits, so a plain hash is safe against
 * guessing.
 */
export function hashId(id: string): string {
  return hash('sha256', id, 'base64url')
}
