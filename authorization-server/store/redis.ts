import type { Redis } from 'ioredis'
import { isReplyError } from '../../platform/redis/is-reply-error.ts'
import { StoreError, type StoreErrorReason } from './store.ts'

/**
 * Runs one operation on Redis and classifies its failure.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: no connection, timeout, or command rejected. A write may have happened.
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
  if (message.includes('READONLY')) return 'read_only'
  return message.includes('OOM') ? 'full' : 'failed'
}

/**
 * Reads the clock that all servers on the store share, in seconds since the epoch.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function readRedisClock(redis: Redis): Promise<number> {
  return attemptRedis(async () => Number((await redis.time())[0]))
}

/**
 * Compares the clock of this process with the clock of Redis. Precision: one round trip.
 * @returns the seconds by which this process is ahead; negative when it is behind.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function readClockDifference(redis: Redis): Promise<number> {
  const sentMs = Date.now()
  const [seconds, microseconds] = await attemptRedis(() => redis.time())
  const middleMs = (sentMs + Date.now()) / 2
  return middleMs / 1_000 - (Number(seconds) + Number(microseconds) / 1_000_000)
}

/**
 * Hash tag of every key. A Redis Cluster keeps the keys on one shard, so that scripts can use several keys.
 * The cluster therefore adds failover but no capacity.
 */
const PREFIX = '{scopegate}'

/** The keys in Redis. Arguments that derive from ids are hashes. */
export const REDIS_KEYS = {
  schema: `${PREFIX}:schema`,
  probe: `${PREFIX}:write-probe`,
  artifact: (model: string, idHash: string) => `${PREFIX}:artifact:${model}:${idHash}`,
  uid: (model: string, uidHash: string) => `${PREFIX}:uid:${model}:${uidHash}`,
  userCode: (model: string, userCodeHash: string) => `${PREFIX}:user-code:${model}:${userCodeHash}`,
  /** Sorted set of the artifact keys of a grant, by expiry. */
  grant: (grantHash: string) => `${PREFIX}:of-grant:${grantHash}`,
  /** Sorted set of the artifact keys of an account, by expiry. */
  ofAccount: (accountId: string) => `${PREFIX}:of-account:${accountId}`,
  /** Sorted set of all artifact keys of a bounded model, by expiry. */
  bounded: (model: string) => `${PREFIX}:bounded:${model}`,
  /** Hash from an artifact key to the hash of its network. */
  sourceOf: (model: string) => `${PREFIX}:source-of:${model}`,
  /** Sorted set of networks, by number of artifacts. */
  sources: (model: string) => `${PREFIX}:sources:${model}`,
  /** Prefix of the key of a list of artifact keys of a network, oldest first; the hash of the network follows. */
  ofSource: (model: string) => `${PREFIX}:of-source:${model}:`,
  /** Hash from an artifact key to the hash of its address. */
  addressOf: (model: string) => `${PREFIX}:address-of:${model}`,
  /** Prefix of the key of a list of artifact keys of an address, oldest first; the hash of the address follows. */
  ofAddress: (model: string) => `${PREFIX}:of-address:${model}:`,
  /** Prefix of the key of a sorted set of addresses of a network, by number of artifacts; the hash of the network follows. */
  addressesOf: (model: string) => `${PREFIX}:addresses:${model}:`,
  account: (id: string) => `${PREFIX}:account:${id}`,
  username: (username: string) => `${PREFIX}:username:${username}`,
  origin: (origin: string) => `${PREFIX}:accounts:${origin}`,
} as const
