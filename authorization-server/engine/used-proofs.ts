import { hash } from 'node:crypto'
import type { ArtifactStore } from '../store/store.ts'

/**
 * Marks the id of a DPoP proof as used.
 * @param maker namespace of the id: the key or client of the proof.
 * @param goodUntilSeconds Unix time at which the proof expires.
 * @returns false when the id was used before.
 */
export type ProofUse = (maker: string, id: string, goodUntilSeconds: number) => Promise<boolean>

/** A replica whose clock is behind accepts a proof for longer. Seconds. */
const MARGIN_SECONDS = 60

/**
 * Creates a check that accepts each DPoP proof once.
 * It stores ids for as long as any replica could accept the proof. One atomic step of the store decides between equal
 * proofs at several processes.
 * Source: RFC 9449 section 11.1.
 */
export function usedProofs(options: {
  readonly artifacts: Pick<ArtifactStore, 'claim'>
  readonly nowSeconds: () => number
}): ProofUse {
  return (maker, id, goodUntilSeconds) =>
    options.artifacts.claim(
      hash('sha256', `${maker}\n${id}`, 'base64url'),
      Math.max(0, goodUntilSeconds - options.nowSeconds()) + MARGIN_SECONDS,
    )
}
