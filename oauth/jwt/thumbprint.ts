import { hash } from 'node:crypto'

/** The members of a public key that its thumbprint covers, in lexicographic order. RFC 7638 section 3.2, RFC 8037. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['e', 'kty', 'n'],
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
}

/**
 * Returns the SHA-256 thumbprint of a key of the type RSA, EC or OKP. Ignores all other members, private ones included.
 * Source: RFC 7638 section 3.
 */
export function thumbprintOf(jwk: { readonly kty?: string | undefined }): string {
  return hash('sha256', JSON.stringify(jwk, [...(MEMBERS[jwk.kty ?? ''] ?? [])]), 'base64url')
}
