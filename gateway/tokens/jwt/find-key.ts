import { matchesKeyKind } from '../../../oauth/jwt/read-jwk.ts'
import type { VerificationKey } from '../../../oauth/jwt/verification-key.ts'

/**
 * Finds the key with the `kid` of a token, among the keys that work with the algorithm of the token. A token without
 * `kid` matches only if the issuer has exactly one key for the algorithm.
 * Source: RFC 7515 section 4.1.4, RFC 8725 section 3.1.
 * @returns the key; `unknown` when the issuer may have published the key since the last fetch; `unfit` when a new fetch
 * cannot help.
 */
export function findKey(
  keys: readonly VerificationKey[],
  wanted: { readonly keyId: string | undefined; readonly algorithm: string },
): VerificationKey | 'unknown' | 'unfit' {
  const { keyId, algorithm } = wanted
  const named = keyId === undefined ? keys : keys.filter((key) => key.kid === keyId)
  const [key, ...others] = named.filter(
    (one) =>
      matchesKeyKind(algorithm, one.kind) && (one.algorithm === undefined || isOne(one.algorithm, algorithm)),
  )
  if (key === undefined) return keyId !== undefined && named.length > 0 ? 'unfit' : 'unknown'
  return others.length === 0 ? key : 'unfit'
}

/** Returns whether two names mean one algorithm. For an Ed25519 key, `EdDSA` means `Ed25519`. RFC 9864 section 2.2. */
function isOne(ofKey: string, ofToken: string): boolean {
  return (
    ofKey === ofToken ||
    (ofKey === 'EdDSA' && ofToken === 'Ed25519') ||
    (ofKey === 'Ed25519' && ofToken === 'EdDSA')
  )
}
