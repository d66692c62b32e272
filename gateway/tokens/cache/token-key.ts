import { hash } from 'node:crypto'

/**
 * Returns the key of a token in caches and logs. It is a hash, so a reader of a cache gets no token. The hash includes
 * the issuer's configuration: the same string from two issuers is two tokens.
 */
export function tokenKey(issuerId: string, token: string): string {
  // An issuer ID contains no line break, so two pairs never give the same input. One character per byte is the most
  // compact string.
  return hash('sha256', `${issuerId}\n${token}`, 'binary')
}
