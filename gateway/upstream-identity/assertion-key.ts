import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto'

/** A key that signs assertions, with everything about it that is fixed. */
export type AssertionKey = {
  /** RFC 7638 thumbprint: the same key has the same name in every process. */
  readonly kid: string
  readonly alg: 'ES256' | 'EdDSA'
  readonly privateKey: KeyObject
  /** RFC 7517 section 4; public members only. */
  readonly publicJwk: Readonly<Record<string, string>>
}

/**
 * Makes an assertion key of a private key: P-256 signs with ES256 (RFC 7518 section 3.4), Ed25519 with EdDSA
 * (RFC 8037 section 3.1).
 * @returns undefined for a key of another kind.
 */
export function toAssertionKey(privateKey: KeyObject): AssertionKey | undefined {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
  // RFC 7638 section 3.2: the required members, in lexicographic order. Nothing else is taken over, so nothing private can be.
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

/** Makes a fresh private key, in PEM: what several processes are to sign with has to be told. */
export function generatePrivateKey(): string {
  return String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  )
}

/** Makes an ES256 key of a private key in PEM; a fresh one without it. It lives in memory only. */
export function generateAssertionKey(pem = generatePrivateKey()): AssertionKey {
  const key = toAssertionKey(createPrivateKey(pem))
  if (key === undefined) throw new Error('a P-256 key was expected')
  return key
}
