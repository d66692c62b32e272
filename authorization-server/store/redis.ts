import { isReplyError } from '../../platform/redis/is-reply-error.ts'
import { ROOT_TAG } from '../../platform/redis/key-layout.ts'
import type { RedisClient } from '../../platform/redis/redis-client.ts'
import { StoreError, type StoreErrorReason } from './store.ts'

/**
 * Runs one operation on Redis and classifies its failure.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: no connection, timeout, or rejected command. Redis may have executed a
 * write.
 */
export async function attemptRedis<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new StoreError('ERR_STORE_UNAVAILABLE', 'The Redis store failed.', {
      cause,
      reason: reasonOf(cause),
    })
  }
}

/**
 * Returns the reason for a failure. A Redis error starts with its code. Redis 6 puts the code after `ERR` when a script
 * fails.
 */
function reasonOf(cause: unknown): StoreErrorReason {
  if (!isReplyError(cause)) return 'away'
  const { message } = cause as Error
  if (/READONLY|NOREPLICAS/.test(message)) return 'read_only'
  if (/CLUSTERDOWN|MASTERDOWN|TRYAGAIN|LOADING/.test(message)) return 'away'
  return message.includes('OOM') ? 'full' : 'failed'
}

/**
 * Reads the clock that all servers on the store share, in seconds since the epoch.
 * @param key selects the shard of a Redis Cluster. Without a key, any shard responds, and another shard may be
 *   unavailable.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function readRedisClock(redis: RedisClient, key?: string): Promise<number> {
  return attemptRedis(async () =>
    Number(
      key !== undefined && redis.isCluster
        ? await redis.eval("return redis.call('TIME')[1]", 1, key)
        : (await redis.time())[0],
    ),
  )
}

/**
 * Compares the clock of this process with the clock of Redis. Precision: one round trip.
 * @returns the seconds by which this process is ahead; negative if this process is behind.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function readClockDifference(redis: RedisClient): Promise<number> {
  const sentMs = Date.now()
  const [seconds, microseconds] = await attemptRedis(() => redis.time())
  const middleMs = (sentMs + Date.now()) / 2
  return middleMs / 1_000 - (Number(seconds) + Number(microseconds) / 1_000_000)
}

type RedisKeys = ReturnType<typeof keysOfTag>

const keysByTag = new Map<string, RedisKeys>()

/**
 * Returns the names of the Redis keys with a hash tag. Ids of artifacts, grants, identities and counters are hashes.
 * Account ids and usernames are not hashes.
 */
export function redisKeys(tag: string): RedisKeys {
  let keys = keysByTag.get(tag)
  if (keys === undefined) {
    keys = keysOfTag(tag)
    keysByTag.set(tag, keys)
  }
  return keys
}

function keysOfTag(tag: string) {
  return {
    schema: `${tag}:schema`,
    probe: `${tag}:write-probe`,
    artifact: (model: string, idHash: string) => `${tag}:artifact:${model}:${idHash}`,
    uid: (model: string, uidHash: string) => `${tag}:uid:${model}:${uidHash}`,
    userCode: (model: string, userCodeHash: string) => `${tag}:user-code:${model}:${userCodeHash}`,
    /** Sorted set of the artifact keys of a grant, by expiry. */
    grant: (grantHash: string) => `${tag}:of-grant:${grantHash}`,
    /** Sorted set of the artifact keys of an account, by expiry. */
    ofAccount: (accountId: string) => `${tag}:of-account:${accountId}`,
    /** Sorted set of all artifact keys of a bounded model, by expiry. */
    bounded: (model: string) => `${tag}:bounded:${model}`,
    /** Redis hash that maps an artifact key to the hashed network. */
    sourceOf: (model: string) => `${tag}:source-of:${model}`,
    /** Sorted set of networks, by number of artifacts. */
    sources: (model: string) => `${tag}:sources:${model}`,
    /**
     * Key prefix of the lists of artifact keys of each network, oldest first. The hash of the network completes the
     * key.
     */
    ofSource: (model: string) => `${tag}:of-source:${model}:`,
    /** Redis hash that maps an artifact key to the hashed address. */
    addressOf: (model: string) => `${tag}:address-of:${model}`,
    /**
     * Key prefix of the lists of artifact keys of each address, oldest first. The hash of the address completes the
     * key.
     */
    ofAddress: (model: string) => `${tag}:of-address:${model}:`,
    /**
     * Key prefix of the sorted sets of addresses of each network, by number of artifacts. The hash of the network
     * completes the key.
     */
    addressesOf: (model: string) => `${tag}:addresses:${model}:`,
    account: (id: string) => `${tag}:account:${id}`,
    username: (username: string) => `${tag}:username:${username}`,
    /** Pointer to the account of a person at an OpenID provider. */
    identity: (identityHash: string) => `${tag}:identity:${identityHash}`,
    origin: (origin: string) => `${tag}:accounts:${origin}`,
    /** Redis hash: the number of attempts (`n`), and whether an attempt was rejected (`r`). */
    attempts: (idHash: string) => `${tag}:attempts:${idHash}`,
    /** Sorted set of the keys of all attempt counters, by expiry. */
    attemptCounters: `${tag}:attempt-counters`,
    /** Set of the ids of accounts whose removal or disabling is not complete. Only in a Redis Cluster. */
    removals: `${tag}:removals`,
    /** Lock of the server that moves the data of schema version 1. Only in a Redis Cluster. */
    migration: `${tag}:migration`,
  } as const
}

/**
 * The keys with the root tag. A single server uses only these keys. A Redis Cluster uses these keys for data of the
 * whole store.
 */
export const REDIS_KEYS = redisKeys(ROOT_TAG)
