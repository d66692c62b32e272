import type { KeyObject } from 'node:crypto'
import type { KeyKind } from './algorithms.ts'

/** A public key of an issuer that has passed all validation rules. */
export type IssuerKey = {
  readonly kid: string | undefined
  /**
   * The only algorithm that the issuer permits for the key. Undefined: every allowed algorithm that fits the kind of
   * key.
   */
  readonly algorithm: string | undefined
  readonly kind: KeyKind
  readonly key: KeyObject
  /** Public members only, for the file cache. */
  readonly publicJwk: Readonly<Record<string, string>>
}

/** Why a key in an issuer's key set is not used. Logs and `scopegate_jwks_keys_dropped_total` contain these names. */
export type DropReason =
  | 'not_a_key'
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
  | 'duplicate_kid'
  | 'too_many'

export type DroppedKey = { readonly kid: string | undefined; readonly reason: DropReason }
