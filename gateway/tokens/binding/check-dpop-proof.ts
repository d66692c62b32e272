import { hash } from 'node:crypto'
import type { ProofFault } from '../../../policy-engine/decide/refusal.ts'
import { isSigned } from './is-signed.ts'
import { readProof } from './read-dpop-proof.ts'

export type ProofRequest = {
  readonly method: string
  /** Returns whether `htu` matches the URL of the request, apart from query and fragment. */
  readonly isAddress: (htu: string) => boolean
  readonly token: string
  readonly nowSeconds: number
}

/** A valid proof, unless it was used before. */
export type CheckedProof = {
  readonly thumbprint: string
  /** Hash of `jti` and the thumbprint of the key: a client cannot use up the IDs of another key. */
  readonly id: string
  /** The proof is too old from then on. Seconds since the epoch. */
  readonly expiresAtSeconds: number
  readonly nonce: unknown
}

/** Maximum difference between `iat` and the gateway's clock, in both directions. Seconds. */
export const PROOF_WINDOW_SECONDS = 60
const LONGEST_ID = 256

/**
 * Checks a DPoP proof against its request: form, key, method, URL, time, token, signature. Has no side effects.
 * Source: RFC 9449 section 4.3, steps 2 to 9, 11 and 12.
 * Cost: one key import and one signature verification, 0.1 ms for ES256.
 */
export function checkProof(text: string, request: ProofRequest): CheckedProof | ProofFault {
  const proof = readProof(text)
  if (typeof proof === 'string') return proof
  const { claims } = proof.parts
  const id = claims.get('jti')
  if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID) return 'bad_id'
  if (claims.get('htm') !== request.method) return 'wrong_method'
  const address = claims.get('htu')
  if (typeof address !== 'string' || !request.isAddress(address)) return 'wrong_address'
  const issuedAt = claims.get('iat')
  if (typeof issuedAt !== 'number' || !(Math.abs(request.nowSeconds - issuedAt) <= PROOF_WINDOW_SECONDS))
    return 'not_recent'
  if (claims.get('ath') !== hash('sha256', request.token, 'base64url')) return 'wrong_token'
  if (!isSigned(proof)) return 'bad_signature'
  return {
    thumbprint: proof.thumbprint,
    id: hash('sha256', `${proof.thumbprint}\n${id}`, 'base64url'),
    expiresAtSeconds: issuedAt + PROOF_WINDOW_SECONDS,
    nonce: claims.get('nonce'),
  }
}
