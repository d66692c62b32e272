import { hash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, errors, jwtVerify } from 'jose'
import { DPOP_ALGORITHMS } from '../../oauth/dpop-algorithms.ts'
import type { ArtifactStore } from '../store/store.ts'

/** The request that a proof must match. */
export type ProofRequest = {
  readonly method: string
  /** Without query and fragment. */
  readonly url: string
  readonly accessToken: string
  /** Thumbprint of the key that the token is bound to. */
  readonly keyThumbprint: string
  readonly nowSeconds: number
  /** Marks the id of a proof as used. Returns false when it was used before. */
  readonly isFirstUse: (thumbprint: string, id: string, expiresAtSeconds: number) => Promise<boolean>
}

export type ProofStatus = 'valid' | 'invalid' | 'wrong_key'

/** Maximum difference between `iat` and now. Seconds. */
const WINDOW_SECONDS = 60
const MAX_PROOF_LENGTH = 8_192
const MAX_ID_LENGTH = 256

/**
 * Verifies the DPoP proof of a request to an endpoint that the engine does not handle.
 * When a proof is rejected, its id stays unused.
 * Source: RFC 9449 sections 4.3 and 7.1.
 */
export async function verifyProof(proof: string, request: ProofRequest): Promise<ProofStatus> {
  if (proof.length > MAX_PROOF_LENGTH) return 'invalid'
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: [...DPOP_ALGORITHMS],
      typ: 'dpop+jwt',
      currentDate: new Date(request.nowSeconds * 1_000),
    })
    const { jti, iat, htm, htu, ath } = payload
    if (typeof jti !== 'string' || jti === '' || jti.length > MAX_ID_LENGTH) return 'invalid'
    if (typeof iat !== 'number' || Math.abs(request.nowSeconds - iat) > WINDOW_SECONDS) return 'invalid'
    if (htm !== request.method || !isAddress(htu, request.url)) return 'invalid'
    if (ath !== hash('sha256', request.accessToken, 'base64url')) return 'invalid'
    if (protectedHeader.jwk === undefined) return 'invalid'
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk)
    if (thumbprint !== request.keyThumbprint) return 'wrong_key'
    return (await request.isFirstUse(thumbprint, jti, iat + WINDOW_SECONDS)) ? 'valid' : 'invalid'
  } catch (error) {
    // In addition to its own errors, jose throws errors of the key parser for an invalid `jwk`.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
      return 'invalid'
    throw error
  }
}

function isAddress(htu: unknown, url: string): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return false
  const address = new URL(htu)
  address.search = ''
  address.hash = ''
  return address.href === url
}

/**
 * Marks the id of a DPoP proof as used.
 * @param maker namespace of the id: the key or client of the proof.
 * @param goodUntilSeconds Unix time at which the proof expires.
 * @returns false when the id was used before.
 */
type ProofUse = (maker: string, id: string, goodUntilSeconds: number) => Promise<boolean>

/**
 * Added to the time for which an id is stored, because a replica whose clock is behind accepts a proof for longer.
 * Seconds.
 */
const MARGIN_SECONDS = 60

/**
 * Creates a check that accepts each DPoP proof once.
 * It stores ids for as long as any replica could accept the proof. One atomic step of the store decides between equal
 * proofs at several processes.
 * Source: RFC 9449 section 11.1.
 */
export function createProofRegistry(options: {
  readonly artifacts: Pick<ArtifactStore, 'claim'>
  readonly nowSeconds: () => number
}): ProofUse {
  return (maker, id, goodUntilSeconds) =>
    options.artifacts.claim(
      hash('sha256', `${maker}\n${id}`, 'base64url'),
      Math.max(0, goodUntilSeconds - options.nowSeconds()) + MARGIN_SECONDS,
    )
}
