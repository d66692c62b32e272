import type { Redis } from 'ioredis'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { connectRedis, describeRedisUrl } from '../../platform/redis/redis.ts'
import { REVOCATION_STREAM, revokedKey } from '../../platform/redis/revocation-keys.ts'
import { type ArtifactRecord, fromArtifactRecord, hashId, toArtifactRecord } from './artifact-record.ts'
import { attemptRedis, REDIS_KEYS, readClockDifference, readRedisClock } from './redis.ts'
import { redisAccounts } from './redis-accounts.ts'
import { openRedisRevocations } from './redis-revocations.ts'
import { defineScripts, type ScriptedRedis } from './redis-scripts.ts'
import {
  createRevokedGrantCache,
  grantRevocation,
  keepSeconds,
  type RevocationContext,
  type RevokedGrantCache,
} from './revocation-records.ts'
import type { ArtifactStore, ArtifactWrite, Store, StoredArtifact } from './store.ts'

const SCHEMA_VERSION = 1
const PROBE_SECONDS = 60

export type RedisStoreOptions = RevocationContext & {
  readonly nowSeconds: () => number
  readonly logger?: Pick<Logger, 'warn' | 'info'>
}

/**
 * Opens the store in Redis, which replicas can share. Redis removes expired artifacts.
 * Cost: one round trip per operation, two for findByUid and findByUserCode. Never uses KEYS or SCAN.
 * @throws {BootError} like connectRedis; ERR_STORE_TOO_NEW, ERR_REDIS_READ_ONLY.
 */
export async function openRedisStore(url: string, options: RedisStoreOptions): Promise<Store> {
  const { logger } = options
  const redis = defineScripts(await connectRedis(logger === undefined ? { url } : { url, logger }))
  try {
    await checkSchema(redis, describeRedisUrl(url))
  } catch (error) {
    redis.disconnect()
    throw error
  }
  const ended = createRevokedGrantCache({ keepSeconds: keepSeconds(options), nowSeconds: options.nowSeconds })
  const revocations = openRedisRevocations({
    redis,
    url,
    issuer: options.issuer,
    onRevoked: (received) => {
      for (const { grant } of received) if (grant !== undefined) ended.add(grant)
    },
    onGap: () => void revokeAgain(ended, redis, options),
  })
  return {
    artifacts: (model) => artifacts(model, redis, { ...options, ended }),
    exchange: async (used, writes) => {
      const all = writes.map(writeArguments)
      const keys = [REDIS_KEYS.artifact(used.model, hashId(used.id)), ...all.flatMap((one) => one.keys)]
      const args = all.flatMap((one) => [one.keys.length, ...one.args])
      return (await attemptRedis(() => redis.exchangeArtifact(keys.length, ...keys, ...args))) === 1
    },
    accounts: redisAccounts(redis, options),
    revocations,
    probe: async () => {
      await attemptRedis(() => redis.set(REDIS_KEYS.probe, '1', 'EX', PROBE_SECONDS))
      return readClockDifference(redis)
    },
    sweep: async () => 0,
    close: async () => {
      await revocations.close()
      redis.disconnect()
    },
  }
}

function artifacts(
  model: string,
  redis: ScriptedRedis,
  options: RedisStoreOptions & { readonly ended: RevokedGrantCache },
): ArtifactStore {
  const find = async (idHash: string, id: string | undefined): Promise<StoredArtifact | undefined> => {
    const fields = await attemptRedis(() => redis.hmget(REDIS_KEYS.artifact(model, idHash), 'p', 'c'))
    const [payload, consumed] = fields
    if (payload === null || payload === undefined) return undefined
    const consumedAtSeconds = typeof consumed === 'string' ? Number(consumed) : undefined
    return fromArtifactRecord({ payload, consumedAtSeconds }, id)
  }
  const findThrough = async (pointer: string): Promise<StoredArtifact | undefined> => {
    const idHash = await attemptRedis(() => redis.get(pointer))
    return idHash === null ? undefined : find(idHash, undefined)
  }
  const boundedKeys = (id: string): readonly string[] => [
    REDIS_KEYS.artifact(model, hashId(id)),
    REDIS_KEYS.bounded(model),
    REDIS_KEYS.sourceOf(model),
    REDIS_KEYS.sources(model),
    REDIS_KEYS.addressOf(model),
  ]
  const sourcePrefixes = [
    REDIS_KEYS.ofSource(model),
    REDIS_KEYS.ofAddress(model),
    REDIS_KEYS.addressesOf(model),
  ]
  const upsert: ArtifactStore['upsert'] = async (id, payload, expiresInSeconds) => {
    const { keys, args } = writeArguments({ model, id, payload, expiresInSeconds })
    await attemptRedis(() => redis.upsertArtifact(keys.length, ...keys, ...args))
  }
  return {
    upsert,
    upsertBounded: async (id, payload, expiresInSeconds, { source, bound }) => {
      // Writes the artifact before its record, so that an eviction by another request between the two scripts finds the
      // artifact.
      await upsert(id, payload, expiresInSeconds)
      await attemptRedis(() =>
        redis.admitArtifact(
          ...boundedKeys(id),
          ...sourcePrefixes,
          hashId(source.network),
          hashId(source.address),
          expiresInSeconds,
          bound.perAddress,
          bound.total,
        ),
      )
    },
    find: (id) => find(hashId(id), id),
    findByUid: (uid) => findThrough(REDIS_KEYS.uid(model, hashId(uid))),
    findByUserCode: (userCode) => findThrough(REDIS_KEYS.userCode(model, hashId(userCode))),
    consume: async (id) =>
      (await attemptRedis(() => redis.consumeArtifact(REDIS_KEYS.artifact(model, hashId(id))))) === 1,
    claim: async (id, expiresInSeconds) =>
      (await attemptRedis(() =>
        redis.claimArtifact(REDIS_KEYS.artifact(model, hashId(id)), expiresInSeconds),
      )) === 1,
    // Pointers and set members of the artifact become dangling and disappear when they expire.
    destroy: async (id) =>
      void (await attemptRedis(() => redis.destroyArtifact(...boundedKeys(id), ...sourcePrefixes))),
    revokeByGrantId: async (grantId) => {
      const grant = hashId(grantId)
      if ((await endGrant(grant, redis, options)) > 0) options.ended.add(grant)
    },
  }
}

/** @returns the number of removed artifacts. */
async function endGrant(grant: string, redis: ScriptedRedis, options: RedisStoreOptions): Promise<number> {
  const keys = [REDIS_KEYS.grant(grant), REVOCATION_STREAM, revokedKey('grant', grant)]
  const entry = grantRevocation(grant, options, await readRedisClock(redis))
  return Number(await attemptRedis(() => redis.revokeGrant(...keys, entry, keepSeconds(options))))
}

/**
 * Repeats the revocation and publication of all grants that this process recorded as revoked.
 * A restarted Redis may have lost revocations that it had acknowledged.
 */
async function revokeAgain(
  ended: RevokedGrantCache,
  redis: ScriptedRedis,
  options: RedisStoreOptions,
): Promise<void> {
  let again = 0
  try {
    for (const grant of ended.all()) if ((await endGrant(grant, redis, options)) > 0) again += 1
  } catch {
    if (redis.status !== 'ready') redis.once('ready', () => void revokeAgain(ended, redis, options))
  }
  if (again > 0)
    options.logger?.warn(
      { event: 'revocations_renewed', grants: again },
      'Redis lost acknowledged revocations; the server wrote them again',
    )
}

function writeArguments(write: ArtifactWrite): {
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
} {
  const record = toArtifactRecord(write)
  const { payload, idHash, consumedAtSeconds } = record
  const sets = setsOf(record)
  return {
    keys: [REDIS_KEYS.artifact(write.model, idHash), ...sets, ...pointersOf(write.model, record)],
    args: [payload, consumedAtSeconds ?? '', write.expiresInSeconds ?? '', sets.length, idHash],
  }
}

function setsOf(record: ArtifactRecord): readonly string[] {
  return [
    ...(record.grantHash === undefined ? [] : [REDIS_KEYS.grant(record.grantHash)]),
    ...(record.accountId === undefined ? [] : [REDIS_KEYS.ofAccount(record.accountId)]),
  ]
}

function pointersOf(model: string, record: ArtifactRecord): readonly string[] {
  return [
    ...(record.uidHash === undefined ? [] : [REDIS_KEYS.uid(model, record.uidHash)]),
    ...(record.userCodeHash === undefined ? [] : [REDIS_KEYS.userCode(model, record.userCodeHash)]),
  ]
}

/** Checks the schema version. The write also proves at start that this Redis accepts writes. */
async function checkSchema(redis: Redis, where: string): Promise<void> {
  try {
    await redis.setnx(REDIS_KEYS.schema, SCHEMA_VERSION)
  } catch (cause) {
    throw new BootError(
      'ERR_REDIS_READ_ONLY',
      `Redis at ${where} rejects writes (${cause instanceof Error ? cause.message : cause}). Name the primary, and give the user write access to keys that begin with {scopegate}.`,
      { cause },
    )
  }
  const found = Number(await redis.get(REDIS_KEYS.schema))
  if (found <= SCHEMA_VERSION) return
  throw new BootError(
    'ERR_STORE_TOO_NEW',
    `Redis at ${where} has schema version ${found}; this program supports versions up to ${SCHEMA_VERSION}. Start the newer Scopegate that wrote it, or name another database in redis.url (REDIS_URL).`,
  )
}
