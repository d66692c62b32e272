import { hash } from 'node:crypto'

/**
 * Hashes an id for the store: base64url of its SHA-256. Ids are bearer values (codes, tokens,
 * session cookies) of at least 128 random bits, so a plain hash cannot be reversed by guessing.
 */
export function hashId(id: string): string {
  return hash('sha256', id, 'base64url')
}
