/** The kind of key that an algorithm needs. `curve` is undefined for RSA. */
export type KeyKind = { readonly kty: 'RSA' | 'EC' | 'OKP'; readonly curve: string | undefined }

const RSA: KeyKind = { kty: 'RSA', curve: undefined }
const ED25519: KeyKind = { kty: 'OKP', curve: 'Ed25519' }

/**
 * The signature algorithms that can be allowed for an issuer, each with its kind of key. Only asymmetric ones: a party
 * that can verify an `HS256` token can also create one.
 * Source: RFC 7518 section 3.1, RFC 8037 section 3.1, RFC 9864 section 2.2 (`Ed25519`), RFC 8725 section 3.1.
 */
export const ALGORITHMS: ReadonlyMap<string, KeyKind> = new Map([
  ['RS256', RSA],
  ['RS384', RSA],
  ['RS512', RSA],
  ['PS256', RSA],
  ['PS384', RSA],
  ['PS512', RSA],
  ['ES256', { kty: 'EC', curve: 'P-256' }],
  ['ES384', { kty: 'EC', curve: 'P-384' }],
  ['ES512', { kty: 'EC', curve: 'P-521' }],
  ['EdDSA', ED25519],
  ['Ed25519', ED25519],
])
