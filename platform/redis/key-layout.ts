import type { RedisClient } from './redis-client.ts'

/**
 * The spread of the keys over hash slots. A Redis Cluster keeps the keys of one tag on one shard, and a script can use
 * keys of one tag only.
 */
export type KeyLayout = {
  readonly tags: readonly string[]
  /** Returns the tag of the partition of a name. Names are base64url hashes, or texts of other issuers. */
  tagOf(name: string): string
}

/** Tag of the keys of the store as a whole, in every layout. In {@link ONE_SLOT}, all keys have this tag. */
export const ROOT_TAG = '{scopegate}'

/** The layout of a single server: all keys have one tag. */
export const ONE_SLOT: KeyLayout = { tags: [ROOT_TAG], tagOf: () => ROOT_TAG }

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Partitions of a cluster. The slots of the tags `{scopegate:00}` to `{scopegate:63}` are evenly distributed over 3 to
 * 12 shards.
 */
const PARTITION_TAGS = Array.from(BASE64URL, (_, at) => `{scopegate:${String(at).padStart(2, '0')}}`)

/** The layout of a Redis Cluster: a partition for each first character of a name. */
export const PARTITIONED: KeyLayout = {
  tags: PARTITION_TAGS,
  tagOf: (name) => PARTITION_TAGS[Math.max(0, BASE64URL.indexOf(name.charAt(0)))] ?? ROOT_TAG,
}

export function layoutOf(redis: Pick<RedisClient, 'isCluster'>): KeyLayout {
  return redis.isCluster ? PARTITIONED : ONE_SLOT
}
