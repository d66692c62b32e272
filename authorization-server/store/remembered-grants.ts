import { LRUCache } from 'lru-cache'

/** The grants that ended lately, by the hash of their ids. */
export type RememberedGrants = {
  add(grantHash: string): void
  all(): readonly string[]
}

/** Some 15 MiB. */
const MOST_GRANTS = 100_000

/** Remembers grants for as long as an access token of them could be good. */
export function rememberGrants(options: {
  readonly keepSeconds: number
  readonly nowSeconds: () => number
}): RememberedGrants {
  const untilSeconds = new LRUCache<string, number>({ max: MOST_GRANTS })
  return {
    add: (grantHash) => void untilSeconds.set(grantHash, options.nowSeconds() + options.keepSeconds),
    all: () =>
      [...untilSeconds.entries()].flatMap(([grant, until]) => (until > options.nowSeconds() ? [grant] : [])),
  }
}
