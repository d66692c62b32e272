import type { KeyObject } from 'node:crypto'

/** The kind of key that an algorithm needs. `curve` is undefined for RSA. */
export type KeyKind = { readonly kty: 'RSA' | 'EC' | 'OKP'; readonly curve: string | undefined }

const RSA: KeyKind = { kty: 'RSA', curve: undefined }
const ED25519: KeyKind = { kty: 'OKP', curve: 'Ed25519' }

/**
 * The signature algorithms that a configuration can allow, each with its kind of key. All are asymmetric: a party that
 * can verify an `HS256` token can also create one.
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

/** A public key of an issuer or a client that has passed all validation rules. */
export type VerificationKey = {
  readonly kid: string | undefined
  /**
   * The only algorithm that the owner of the key permits. Undefined: every allowed algorithm that fits the kind of key.
   */
  readonly algorithm: string | undefined
  readonly kind: KeyKind
  readonly key: KeyObject
  /** Public members only. */
  readonly publicJwk: Readonly<Record<string, string>>
}

/** Reasons why a key is not used. Logs and metrics of issuers contain these names. */
export type KeyFault =
  | 'private_members'
  | 'symmetric'
  | 'unsupported'
  | 'not_for_signatures'
  | 'algorithm_not_allowed'
  | 'algorithm_mismatch'
  | 'rsa_too_small'
  | 'rsa_too_large'
  | 'rsa_exponent'
  | 'rsa_weak'
  | 'invalid'
