import { LRUCache } from 'lru-cache'

/** Remembers proofs until they are too old to be used again. */
export type UsedProofs = {
  /** Whether a proof is used for the first time; it is used then. Never rejects. */
  use(id: string, expiresAtSeconds: number, nowSeconds: number): boolean | Promise<boolean>
  readonly size: number
}

/**
 * Some 40 MiB of them. At 60 s each that is room for 3,300 requests with proofs a second; beyond that the oldest are
 * forgotten before their time.
 */
const MAX_PROOFS = 200_000

/** Remembers in this process. */
export function createUsedProofs(maxProofs = MAX_PROOFS): UsedProofs & { use(...of: Use): boolean } {
  // Room for so many takes 20 ms to make: nobody waits for it at the start.
  let used: LRUCache<string, number> | undefined
  return {
    use(id, expiresAtSeconds, nowSeconds) {
      used ??= new LRUCache({ max: maxProofs })
      // Looking does not make it young: the oldest are forgotten first, whoever tries them.
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
