import { hash } from 'node:crypto'

/**
 * The key of a token in caches and logs: a hash, so that nobody who reads a cache holds a token.
 * It covers the issuer's configuration too: the same string from two issuers is two tokens.
 */
export function tokenKey(issuerId: string, token: string): string {
  // An issuer id holds no line break, so no two pairs give one input. One character for each byte is the most compact text.
  return hash('sha256', `${issuerId}\n${token}`, 'binary')
}
