import { hash } from 'node:crypto'
import { checkProof } from '../../oauth/dpop/check-proof.ts'
import { readProofAddress } from '../../oauth/dpop/proof-address.ts'
import type { ArtifactStore } from '../store/store.ts'

export type ProofRequest = {
  readonly method: string
  /** URL of the request, without query and fragment. */
  readonly url: string
  readonly accessToken: string
  /** Thumbprint of the key that the token is bound to. */
  readonly keyThumbprint: string
  readonly nowSeconds: number
  /** Records the id of a proof as used. Returns false if the id was used before. */
  readonly isFirstUse: (thumbprint: string, id: string, expiresAtSeconds: number) => Promise<boolean>
}

export type ProofStatus = 'valid' | 'invalid' | 'wrong_key'

/**
 * Verifies the DPoP proof of a request to an endpoint that the engine does not handle.
 * When a proof is rejected, its id stays unused.
 * Source: RFC 9449 sections 4.3 and 7.1.
 */
export async function verifyProof(text: string, request: ProofRequest): Promise<ProofStatus> {
  const { method, url, accessToken: token, keyThumbprint, nowSeconds } = request
  const isAddress = (htu: string): boolean => {
    const address = readProofAddress(htu)
    return address !== undefined && address.origin + address.target === url
  }
  const proof = checkProof(text, { method, isAddress, token, nowSeconds })
  if (typeof proof === 'string') return 'invalid'
  const { thumbprint, id, expiresAtSeconds } = proof
  if (thumbprint !== keyThumbprint) return 'wrong_key'
  return (await request.isFirstUse(thumbprint, id, expiresAtSeconds)) ? 'valid' : 'invalid'
}

/**
 * Records the id of a DPoP proof as used.
 * @param maker namespace of the id: the key or client of the proof.
 * @param goodUntilSeconds Unix time at which the proof expires.
 * @returns false when the id was used before.
 */
type ProofUse = (maker: string, id: string, goodUntilSeconds: number) => Promise<boolean>

/**
 * Additional time for which the store keeps an id. If the clock of a replica is behind, this replica accepts a proof
 * for longer. Seconds.
 */
const MARGIN_SECONDS = 60

/**
 * Creates a check that accepts each DPoP proof once. The store keeps each id for as long as any replica could accept
 * the proof. If several processes receive the same proof, one atomic step of the store decides which process accepts
 * the proof. Source: RFC 9449 section 11.1.
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
