/** Returns a random integer from 0 to `limit` - 1. */
export function randomBelow(limit: number): number {
  return Math.floor(Math.random() * limit)
}

/** Most sizes are small, and some sizes are large. Bytes. */
export function randomSize(largest: number): number {
  const kind = Math.random()
  if (kind < 0.7) return randomBelow(Math.min(200, largest))
  return randomBelow(kind < 0.95 ? Math.min(5_000, largest) : largest)
}

export function randomOf<T>(all: readonly [T, ...T[]]): T {
  return all[randomBelow(all.length)] ?? all[0]
}
