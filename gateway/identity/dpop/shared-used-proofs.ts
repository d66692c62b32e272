import type { SharedRedis } from '../../redis/shared-redis.ts'
import { createUsedProofs, type UsedProofs } from './used-proofs.ts'

export type SharedUsedProofsOptions = {
  readonly shared: SharedRedis
  /** Counts proofs that only this process knows of. */
  readonly onAlone: () => void
}

const KEY_PREFIX = 'scopegate:dpop:'
/** Where clocks are behind, a proof is good for longer. Milliseconds. */
const CLOCKS_DIFFER_MS = 60_000

/**
 * Remembers in Redis, together with every other gateway that does, and here as well. While Redis is away, slow or broken,
 * each process knows only what it has seen itself: for as long as a proof is good, one minute after it was made, it could be
 * used once more at each other process, for the same method, address and token. Refusing everybody instead would make
 * Redis a part that the whole API stands and falls with.
 */
export function createSharedUsedProofs(options: SharedUsedProofsOptions): UsedProofs {
  const { shared, onAlone } = options
  const local = createUsedProofs()

  async function useThere(id: string, expiresAtSeconds: number, nowSeconds: number): Promise<boolean> {
    const ttlMs = Math.ceil((expiresAtSeconds - nowSeconds) * 1_000) + CLOCKS_DIFFER_MS
    try {
      const answer = await shared.redis.set(KEY_PREFIX + id, '1', 'PX', ttlMs, 'NX')
      shared.succeeded()
      return answer === 'OK'
    } catch {
      shared.failed()
      onAlone()
      return true
    }
  }

  return {
    use(id, expiresAtSeconds, nowSeconds) {
      if (!local.use(id, expiresAtSeconds, nowSeconds)) return false
      if (shared.unusable() === undefined) return useThere(id, expiresAtSeconds, nowSeconds)
      onAlone()
      return true
    },
    get size() {
      return local.size
    },
  }
}
