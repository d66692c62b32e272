import { LRUCache } from 'lru-cache'

/** Records used proofs until they expire. */
export type UsedProofs = {
  /** Records the use of a proof. Returns whether this is the first use. Never rejects. */
  use(id: string, expiresAtSeconds: number, nowSeconds: number): boolean | Promise<boolean>
  readonly size: number
}

/**
 * Maximum number of proofs, which take about 40 MiB. With a lifetime of 60 s, this number is enough for 3,300 requests
 * with proofs per second. At a higher rate, the gateway evicts the oldest proofs before their expiry.
 */
const MAX_PROOFS = 200_000

/** Creates a store in the memory of this process. */
export function createUsedProofs(maxProofs = MAX_PROOFS): UsedProofs & { use(...of: Use): boolean } {
  // The allocation of the cache takes 20 ms. The first proof triggers the allocation, so that the start of the gateway
  // is not delayed.
  let used: LRUCache<string, number> | undefined
  return {
    use(id, expiresAtSeconds, nowSeconds) {
      used ??= new LRUCache({ max: maxProofs })
      // `peek()` does not refresh the entry. A client therefore cannot delay the eviction of a proof when it repeats
      // the proof.
      const until = used.peek(id)
      if (until !== undefined && until >= nowSeconds) return false
      used.set(id, expiresAtSeconds)
      return true
    },
    get size() {
      return used?.size ?? 0
    },
  }
}

type Use = Parameters<UsedProofs['use']>
