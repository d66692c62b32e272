import { hash } from 'node:crypto'
import type { ArtifactStore } from '../store/store.ts'

/** Uses up an id of whoever made it; false when that was done before. Good proofs of it end at `goodUntilSeconds`. */
export type ProofUse = (maker: string, id: string, goodUntilSeconds: number) => Promise<boolean>

/** A replica whose clock is behind takes a proof for longer. Seconds. */
const MARGIN_SECONDS = 60

/**
 * Remembers the ids of DPoP proofs for as long as any replica could take them for good, in one step of the store: of any
 * number of equal proofs at any number of processes, one is the first.
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
