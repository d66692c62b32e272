import { setTimeout as pause } from 'node:timers/promises'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { isReplyError } from '../../platform/redis/is-reply-error.ts'
import { layoutOf } from '../../platform/redis/key-layout.ts'
import { openRedis } from '../../platform/redis/redis.ts'
import type { RedisConnection } from '../../platform/redis/redis-connection.ts'
import { addressSetting, explainFailure, nameConnection } from '../../platform/redis/redis-failure.ts'
import { attemptRedis, REDIS_KEYS, readClockDifference, redisKeys } from './redis.ts'
import { openRedisAccounts } from './redis-accounts.ts'
import { redisArtifacts } from './redis-artifacts.ts'
import { redisAttempts } from './redis-attempts.ts'
import { CLUSTER_SCHEMA_VERSION, moveToPartitions } from './redis-migration.ts'
import { openRedisRevocations } from './redis-revocations.ts'
import { defineScripts, type ScriptedRedis } from './redis-scripts.ts'
import { createRevokedGrantCache, type RevocationContext } from './revocation-records.ts'
import { type Store, StoreError } from './store.ts'

/** Schema version of data whose keys all have one hash tag. */
const SCHEMA_VERSION = 1
const PROBE_SECONDS = 60
const RENEWAL_RETRY_MS = 1_000

export type RedisStoreOptions = RevocationContext & {
  readonly nowSeconds: () => number
  readonly logger?: Pick<Logger, 'warn' | 'info'>
}

/**
 * Opens the store in Redis, which replicas can share. Redis removes expired artifacts. Only `list()` and the move to a
 * Redis Cluster use SCAN, and no operation uses KEYS.
 * @throws {BootError} the errors of openRedis, ERR_STORE_TOO_NEW, ERR_STORE_LAYOUT, ERR_STORE_MIGRATION,
 * ERR_REDIS_READ_ONLY.
 */
export async function openRedisStore(
  connection: RedisConnection,
  options: RedisStoreOptions,
): Promise<Store> {
  const { logger } = options
  const redis = defineScripts(await openRedis(logger === undefined ? connection : { ...connection, logger }))
  const artifacts = redisArtifacts(redis, options)
  try {
    await checkSchema(redis, connection)
    if (redis.isCluster) await moveToPartitions({ redis, restore: artifacts.restore, logger })
  } catch (error) {
    redis.disconnect()
    // One shard of a Redis Cluster can be unavailable although the connection to the cluster succeeded.
    throw error instanceof BootError ? error : explainFailure(nameConnection(connection, 'redis'), error)
  }
  const ended = createRevokedGrantCache(options)
  const { tags, tagOf } = layoutOf(redis)
  const renewal = createRenewal({
    grantsByPartition: () => Map.groupBy(ended.all(), tagOf),
    endGrant: artifacts.endGrant,
    logger,
  })
  const revocations = openRedisRevocations({
    redis,
    connection,
    context: options,
    onRevoked: (received) => {
      for (const { grant } of received) if (grant !== undefined) ended.add(grant)
    },
    onGap: renewal.start,
  })
  const accounts = openRedisAccounts(redis, options)
  return {
    artifacts: (model) => artifacts.ofModel(model, ended.add),
    exchange: artifacts.exchange,
    accounts,
    attempts: redisAttempts(redis),
    revocations,
    probe: async () => {
      await attemptRedis(() =>
        Promise.all(tags.map((tag) => redis.set(redisKeys(tag).probe, '1', 'EX', PROBE_SECONDS))),
      )
      return readClockDifference(redis)
    },
    sweep: async () => {
      await accounts.finishRemovals()
      return 0
    },
    close: async () => {
      renewal.stop()
      await revocations.close()
      redis.disconnect()
    },
  }
}

/**
 * Repeats revocations that Redis may have lost. If a pass is running in a partition, `start()` adds another pass for
 * this partition.
 */
type Renewal = { start(): void; stop(): void }

/**
 * Finds grants that this process recorded as revoked and that still have artifacts. Revokes these grants again, and
 * publishes the revocations again. A restarted Redis may have lost revocations that it had acknowledged. After a
 * failure, the pass repeats the same grant until the write succeeds. The partitions are independent, so an unavailable
 * shard of a Redis Cluster delays only its own grants.
 */
function createRenewal(options: {
  readonly grantsByPartition: () => ReadonlyMap<string, readonly string[]>
  readonly endGrant: (grant: string) => Promise<number>
  readonly logger: RedisStoreOptions['logger']
}): Renewal {
  const { grantsByPartition, endGrant, logger } = options
  const closing = new AbortController()
  /** The grants of the next pass, by partition. */
  const requested = new Map<string, readonly string[]>()
  const running = new Set<string>()
  /** The running partitions that had a failure in the current pass. */
  const failing = new Set<string>()
  let again = 0

  async function renew(grant: string, partition: string): Promise<void> {
    for (;;)
      try {
        if ((await endGrant(grant)) > 0) again += 1
        return
      } catch (error) {
        if (!closing.signal.aborted) logFailure(error, partition)
        await pause(RENEWAL_RETRY_MS, undefined, { signal: closing.signal, ref: false })
      }
  }

  /** Logs a failure if no other partition has a failure, because the partitions of one shard fail at the same time. */
  function logFailure(error: unknown, partition: string): void {
    if (failing.has(partition)) return
    if (failing.size === 0)
      logger?.warn(
        {
          event: 'revocations_renewal_failed',
          reason: error instanceof StoreError ? error.reason : 'failed',
        },
        'Redis may have lost acknowledged revocations and rejects the attempt to write them again; the server retries',
      )
    failing.add(partition)
    logRenewed()
  }

  /** Logs the result when only failing partitions remain. */
  function logRenewed(): void {
    if (again === 0 || failing.size < running.size) return
    logger?.warn(
      { event: 'revocations_renewed', grants: again },
      'Redis lost acknowledged revocations; the server wrote these revocations again',
    )
    again = 0
  }

  async function run(partition: string): Promise<void> {
    try {
      for (let grants = requested.get(partition); grants; grants = requested.get(partition)) {
        requested.delete(partition)
        for (const grant of grants) await renew(grant, partition)
        failing.delete(partition)
      }
    } finally {
      running.delete(partition)
      failing.delete(partition)
      logRenewed()
    }
  }

  return {
    start() {
      for (const [partition, grants] of grantsByPartition()) {
        requested.set(partition, grants)
        if (running.has(partition)) continue
        running.add(partition)
        run(partition).catch(() => undefined) // only stop() ends a pass
      }
    },
    stop: () => closing.abort(),
  }
}

/** Checks the schema version. At the start, the write in this check also proves that this Redis accepts writes. */
async function checkSchema(redis: ScriptedRedis, connection: RedisConnection): Promise<void> {
  const { where } = nameConnection(connection, 'redis')
  const own = redis.isCluster ? CLUSTER_SCHEMA_VERSION : SCHEMA_VERSION
  try {
    await redis.setnx(REDIS_KEYS.schema, own)
  } catch (cause) {
    if (!isReplyError(cause) || /^CLUSTERDOWN/.test(String((cause as Error).message))) throw cause
    throw new BootError(
      'ERR_REDIS_READ_ONLY',
      `Redis at ${where} rejects writes (${cause instanceof Error ? cause.message : cause}). Name the primary, and give the user write access to keys that begin with {scopegate}.`,
      { cause },
    )
  }
  const found = Number(await redis.get(REDIS_KEYS.schema))
  if (found > CLUSTER_SCHEMA_VERSION)
    throw new BootError(
      'ERR_STORE_TOO_NEW',
      `Redis at ${where} has schema version ${found}; this program supports versions up to ${CLUSTER_SCHEMA_VERSION}. Start the newer Scopegate that wrote it, or name another database in ${addressSetting({ connection, setting: 'redis' })}.`,
    )
  if (found > own)
    throw new BootError(
      'ERR_STORE_LAYOUT',
      `Redis at ${where} has the data of a Redis Cluster (schema version ${found}). Name nodes of the cluster in redis.cluster.addresses instead of ${addressSetting({ connection, setting: 'redis' })}.`,
    )
}
