import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { layoutOf } from '../../platform/redis/key-layout.ts'
import { openRedis } from '../../platform/redis/redis.ts'
import type { RedisConnection } from '../../platform/redis/redis-connection.ts'
import { addressSetting, nameConnection } from '../../platform/redis/redis-failure.ts'
import { attemptRedis, REDIS_KEYS, readClockDifference, redisKeys } from './redis.ts'
import { openRedisAccounts } from './redis-accounts.ts'
import { redisArtifacts } from './redis-artifacts.ts'
import { CLUSTER_SCHEMA_VERSION, moveToPartitions } from './redis-migration.ts'
import { openRedisRevocations } from './redis-revocations.ts'
import { defineScripts, type ScriptedRedis } from './redis-scripts.ts'
import {
  createRevokedGrantCache,
  keepSeconds,
  type RevocationContext,
  type RevokedGrantCache,
} from './revocation-records.ts'
import type { Store } from './store.ts'

/** Version of the layout in which all keys have one hash tag. */
const SCHEMA_VERSION = 1
const PROBE_SECONDS = 60

export type RedisStoreOptions = RevocationContext & {
  readonly nowSeconds: () => number
  readonly logger?: Pick<Logger, 'warn' | 'info'>
}

/**
 * Opens the store in Redis, which replicas can share. Redis removes expired artifacts. Requests never use KEYS or SCAN.
 * @throws {BootError} the errors of openRedis, ERR_STORE_TOO_NEW, ERR_STORE_LAYOUT, ERR_REDIS_READ_ONLY.
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
    throw error
  }
  const ended = createRevokedGrantCache({ keepSeconds: keepSeconds(options), nowSeconds: options.nowSeconds })
  const renew = () => revokeAgain({ ended, redis, endGrant: artifacts.endGrant, logger })
  const revocations = openRedisRevocations({
    redis,
    connection,
    issuer: options.issuer,
    keepSeconds: keepSeconds(options),
    onRevoked: (received) => {
      for (const { grant } of received) if (grant !== undefined) ended.add(grant)
    },
    onGap: () => void renew(),
  })
  const accounts = openRedisAccounts(redis, options)
  const { tags } = layoutOf(redis)
  return {
    artifacts: (model) => artifacts.ofModel(model, ended.add),
    exchange: artifacts.exchange,
    accounts,
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
      await revocations.close()
      redis.disconnect()
    },
  }
}

/**
 * Revokes and publishes again all grants that this process recorded as revoked. A restarted Redis may have lost
 * revocations that it had acknowledged.
 */
async function revokeAgain(options: {
  readonly ended: RevokedGrantCache
  readonly redis: ScriptedRedis
  readonly endGrant: (grant: string) => Promise<number>
  readonly logger: RedisStoreOptions['logger']
}): Promise<void> {
  const { ended, redis, endGrant, logger } = options
  let again = 0
  try {
    for (const grant of ended.all()) if ((await endGrant(grant)) > 0) again += 1
  } catch {
    if (redis.status !== 'ready') redis.once('ready', () => void revokeAgain(options))
  }
  if (again > 0)
    logger?.warn(
      { event: 'revocations_renewed', grants: again },
      'Redis lost acknowledged revocations; the server wrote them again',
    )
}

/** Checks the schema version. At the start, the write in this check also proves that this Redis accepts writes. */
async function checkSchema(redis: ScriptedRedis, connection: RedisConnection): Promise<void> {
  const { where } = nameConnection(connection, 'redis')
  const own = redis.isCluster ? CLUSTER_SCHEMA_VERSION : SCHEMA_VERSION
  try {
    await redis.setnx(REDIS_KEYS.schema, own)
  } catch (cause) {
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
