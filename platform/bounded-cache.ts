import { LRUCache } from 'lru-cache'

/**
 * Creates a cache that evicts the least recently used entry above `max` entries. The cache allocates memory for its
 * entries only. The option `max` of lru-cache allocates memory for all entries, which takes 10 ms for 50,000 entries.
 */
export function createBoundedCache<V extends {}>(max: number): LRUCache<string, V> {
  return new LRUCache({ maxSize: max, sizeCalculation: () => 1 })
}
