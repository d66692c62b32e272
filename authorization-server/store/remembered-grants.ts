import { LRUCache } from 'lru-cache'

/** Recently revoked grants, by the hash of their ids. */
export type RememberedGrants = {
  add(grantHash: string): void
  all(): readonly string[]
}

/** About 15 MiB. */
const MAX_GRANTS = 100_000

/** Creates a cache of grants. It keeps a grant for as long as its access tokens can be valid. */
export function rememberGrants(options: {
  readonly keepSeconds: number
  readonly nowSeconds: () => number
}): RememberedGrants {
  const untilSeconds = new LRUCache<string, number>({ max: MAX_GRANTS })
  return {
    add: (grantHash) => void untilSeconds.set(grantHash, options.nowSeconds() + options.keepSeconds),
    all: () =>
      [...untilSeconds.entries()].flatMap(([grant, until]) => (until > options.nowSeconds() ? [grant] : [])),
  }
}
