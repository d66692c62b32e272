import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto'

export type AssertionKey = {
  /** RFC 7638 thumbprint: the same key has the same ID in every process. */
  readonly kid: string
  readonly alg: 'ES256' | 'EdDSA'
  readonly privateKey: KeyObject
  /** RFC 7517 section 4; public members only. */
  readonly publicJwk: Readonly<Record<string, string>>
}

/**
 * Creates an assertion key from a private key. A P-256 key signs with ES256 (RFC 7518 section 3.4), an Ed25519 key with
 * EdDSA (RFC 8037 section 3.1).
 * @returns undefined for any other kind of key.
 */
export function toAssertionKey(privateKey: KeyObject): AssertionKey | undefined {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
  // RFC 7638 section 3.2: the required members, in lexicographic order. Only these are copied, so no private member can
  // leak.
  const members: Record<string, string> | undefined =
    kty === 'EC' && crv === 'P-256' && x !== undefined && y !== undefined
      ? { crv, kty, x, y }
      : kty === 'OKP' && crv === 'Ed25519' && x !== undefined
        ? { crv, kty, x }
        : undefined
  if (members === undefined) return undefined
  const kid = hash('sha256', JSON.stringify(members), 'base64url')
  const alg = kty === 'EC' ? 'ES256' : 'EdDSA'
  return Object.freeze({
    kid,
    alg,
    privateKey,
    publicJwk: Object.freeze({ ...members, kid, alg, use: 'sig' }),
  })
}

/** Generates a P-256 private key in PEM, the form in which several processes share it. */
export function generatePrivateKey(): string {
  return String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  )
}

/** Creates an assertion key from a private key in PEM. Default: a new P-256 key, which exists only in memory. */
export function generateAssertionKey(pem = generatePrivateKey()): AssertionKey {
  const key = toAssertionKey(createPrivateKey(pem))
  if (key === undefined) throw new Error('the key must be a P-256 key')
  return key
}
