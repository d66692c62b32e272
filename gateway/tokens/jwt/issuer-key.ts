import type { KeyObject } from 'node:crypto'
import type { KeyKind } from './algorithms.ts'

/** A public key of an issuer that has passed every rule. */
export type IssuerKey = {
  readonly kid: string | undefined
  /** The one algorithm that the issuer means it for; undefined: every allowed one that its kind fits. */
  readonly algorithm: string | undefined
  readonly kind: KeyKind
  readonly key: KeyObject
  /** Its public members alone, for the copy on disk. */
  readonly publicJwk: Readonly<Record<string, string>>
}

/** Why a key of an issuer's set is not used. The names stand in logs and in `scopegate_jwks_keys_dropped_total`. */
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
