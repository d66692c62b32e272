import { createPrivateKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto'
import { readJwk } from '../../oauth/jwt/read-jwk.ts'
import { ALGORITHMS, type KeyFault, type VerificationKey } from '../../oauth/jwt/verification-key.ts'

/** The reason why the server cannot sign with a key, as the rest of a sentence, and the remedy. No key material. */
export type SigningKeyFault = { readonly reason: string; readonly remedy: string }

const RESTORE = 'Restore this key from a backup, or remove it.'
const REPLACE = 'Replace this key, or remove it.'
const ALL_ALGORITHMS: ReadonlySet<string> = new Set(ALGORITHMS.keys())
const PRIVATE_MEMBERS: readonly string[] = ['d', 'p', 'q', 'dp', 'dq', 'qi']
const BASE64URL = /^[\w-]+$/
const TEST_DATA = Buffer.from('test of a signing key')

/**
 * Tests a private key: its public part must be a valid verification key, and must verify a signature of the private
 * part. A server with a damaged key would sign tokens that verifiers reject.
 * Cost: one signature, about 1 ms for RSA.
 * @returns undefined for a usable key.
 */
export function findKeyFault(jwk: Readonly<Record<string, unknown>>): SigningKeyFault | undefined {
  const { key_ops: operations } = jwk
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('sign')))
    return { reason: 'is not for signatures (key_ops)', remedy: 'Remove key_ops, or remove the key.' }
  // The engine cannot use a key with more than two primes. RFC 7518 section 6.3.2.7.
  if (jwk['oth'] !== undefined) return { reason: 'has more than two primes (oth)', remedy: REPLACE }
  const isPrivate = (name: string): boolean => PRIVATE_MEMBERS.includes(name) || name === 'key_ops'
  const publicPart = readJwk(
    new Map(Object.entries(jwk).filter(([name]) => !isPrivate(name))),
    ALL_ALGORITHMS,
  )
  if (typeof publicPart === 'string') return FAULTS[publicPart] ?? DAMAGED
  const privateKey = readPrivateKey(jwk)
  return privateKey === undefined || !isPair(privateKey, publicPart) ? DAMAGED : undefined
}

const DAMAGED: SigningKeyFault = {
  reason: 'is damaged: its private part does not match its public part',
  remedy: RESTORE,
}
const WEAK: SigningKeyFault = { reason: 'is weak: verifiers do not accept it', remedy: REPLACE }

const FAULTS: Readonly<Partial<Record<KeyFault, SigningKeyFault>>> = {
  symmetric: { reason: 'is a symmetric key', remedy: REPLACE },
  unsupported: { reason: 'has a type or an algorithm that the server does not support', remedy: REPLACE },
  not_for_signatures: { reason: 'is not for signatures (use)', remedy: 'Remove this key.' },
  algorithm_mismatch: { reason: 'has an alg that does not belong to its type', remedy: 'Correct alg.' },
  rsa_too_small: { reason: 'has fewer than 2048 bits', remedy: REPLACE },
  rsa_too_large: { reason: 'has more than 8192 bits', remedy: REPLACE },
  rsa_exponent: WEAK,
  rsa_weak: WEAK,
}

function readPrivateKey(jwk: Readonly<Record<string, unknown>>): KeyObject | undefined {
  // Node.js decodes more forms than base64url. The engine and other servers do not.
  for (const name of PRIVATE_MEMBERS) {
    const value = jwk[name]
    const isRequired = name === 'd' || jwk['kty'] === 'RSA'
    if (value === undefined && !isRequired) continue
    if (typeof value !== 'string' || !BASE64URL.test(value)) return undefined
  }
  try {
    return createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' })
  } catch {
    return undefined // The error message of the library may quote the key.
  }
}

function isPair(privateKey: KeyObject, { key, kind, publicJwk }: VerificationKey): boolean {
  const digest = kind.kty === 'OKP' ? null : 'sha256'
  try {
    const { kid, ...members } = publicJwk
    if (Object.values(members).some((value) => !BASE64URL.test(value))) return false
    return verify(digest, TEST_DATA, key, sign(digest, TEST_DATA, privateKey))
  } catch {
    return false
  }
}
