import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster } from 'ioredis'
import { readRevocation } from '../../oauth/revocation.ts'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { PARTITIONED, ROOT_TAG } from '../../platform/redis/key-layout.ts'
import {
  REVOCATION_FIELD,
  REVOCATION_STREAM,
  revocationStream,
} from '../../platform/redis/revocation-keys.ts'
import { REDIS_KEYS } from './redis.ts'
import { IN_ROOT, type RedisArtifacts } from './redis-artifacts.ts'
import type { ScriptedRedis } from './redis-scripts.ts'
import type { StoredArtifact } from './store.ts'

/** Schema version of the data in a Redis Cluster. The data on a single Redis server has version 1. */
export const CLUSTER_SCHEMA_VERSION = 2

const LOCK_MS = 30_000
const RENEW_MS = 10_000
const POLL_MS = 250
const KEYS_AT_ONCE = 200

/**
 * Moves the data of schema version 1 into the partitions. A cluster contains this data if a server wrote to the cluster
 * through only one address. One server moves the data, and other servers wait. If this server stops early, the next
 * start moves the remaining data. Accounts are not moved. Servers of version 1 must not run, because servers of version
 * 1 do not find moved data.
 * @throws {BootError} ERR_STORE_MIGRATION when another server holds the lock and does not finish.
 */
export async function moveToPartitions(options: {
  readonly redis: ScriptedRedis
  readonly restore: RedisArtifacts['restore']
  readonly logger: Pick<Logger, 'warn' | 'info'> | undefined
}): Promise<void> {
  const { redis, restore, logger } = options
  const owner = randomUUID()
  const isMoved = async () => Number(await redis.get(REDIS_KEYS.schema)) >= CLUSTER_SCHEMA_VERSION
  for (let waitedMs = 0; !(await isMoved()); waitedMs += POLL_MS) {
    if ((await redis.set(REDIS_KEYS.migration, owner, 'PX', LOCK_MS, 'NX')) === 'OK') {
      const renewal = setInterval(
        () => void redis.pexpire(REDIS_KEYS.migration, LOCK_MS).catch(() => undefined),
        RENEW_MS,
      )
      try {
        const moved = await moveAll(redis as ScriptedRedis & Cluster, restore)
        await redis.set(REDIS_KEYS.schema, CLUSTER_SCHEMA_VERSION)
        logger?.info(
          { event: 'store_moved', keys: moved, version: CLUSTER_SCHEMA_VERSION },
          'moved the data of schema version 1 into the partitions of the cluster',
        )
      } finally {
        clearInterval(renewal)
        await redis.del(REDIS_KEYS.migration).catch(() => undefined)
      }
      return
    }
    if (waitedMs > 2 * LOCK_MS)
      throw new BootError(
        'ERR_STORE_MIGRATION',
        `Another server moves the data of schema version 1, and has not finished after ${(2 * LOCK_MS) / 1_000} s. Start this server again, or end the other server.`,
      )
    await pause(POLL_MS)
  }
}

/** @returns the number of moved keys. */
async function moveAll(cluster: Cluster, restore: RedisArtifacts['restore']): Promise<number> {
  let moved = 0
  for (const node of cluster.nodes('master')) {
    let cursor = '0'
    do {
      const [next, keys] = await node.scan(cursor, 'MATCH', `${ROOT_TAG}:*`, 'COUNT', KEYS_AT_ONCE)
      const results = await Promise.all(keys.map((key) => moveKey(key, cluster, restore)))
      moved += results.filter(Boolean).length
      cursor = next
    } while (cursor !== '0')
  }
  await moveStream(cluster)
  return moved
}

/**
 * Moves one key that has the root tag.
 * @returns false for a key that is not moved.
 */
async function moveKey(key: string, cluster: Cluster, restore: RedisArtifacts['restore']): Promise<boolean> {
  const [kind, ...parts] = key.slice(ROOT_TAG.length + 1).split(':')
  // The last part of the key can contain a colon, for example in names of other issuers.
  const name = parts.slice(kind === 'relayed' ? 2 : 1).join(':')
  const leftMs = await cluster.pttl(key)
  if (kind === 'artifact') {
    const [model = ''] = parts
    if (IN_ROOT.includes(model)) return false
    const [payload, consumed] = await cluster.hmget(key, 'p', 'c')
    if (typeof payload === 'string') {
      const stored: StoredArtifact = JSON.parse(payload)
      const complete = typeof consumed === 'string' ? { ...stored, consumed: Number(consumed) } : stored
      const expiresInSeconds = leftMs < 0 ? undefined : Math.ceil(leftMs / 1_000)
      await restore({ model, payload: complete, expiresInSeconds }, name)
    }
  } else if (kind === 'uid' || kind === 'user-code' || kind === 'revoked' || kind === 'relayed') {
    const value = await cluster.get(key)
    const target = PARTITIONED.tagOf(name) + key.slice(ROOT_TAG.length)
    if (value !== null && leftMs >= 0) await cluster.set(target, value, 'PX', Math.max(1, leftMs))
    else if (value !== null) await cluster.set(target, value)
  } else return false
  await cluster.del(key)
  return true
}

/** Moves the revocations into the partitions, because gateways read revocations when they start. */
async function moveStream(cluster: Cluster): Promise<void> {
  for (const [, fields] of await cluster.xrange(REVOCATION_STREAM, '-', '+')) {
    const text = fields[fields.indexOf(REVOCATION_FIELD) + 1] ?? ''
    const { grant, token, subject } = readRevocation(text) ?? {}
    const tag = PARTITIONED.tagOf(grant ?? token ?? subject ?? '')
    await cluster.xadd(revocationStream(tag), '*', REVOCATION_FIELD, text)
  }
  await cluster.del(REVOCATION_STREAM)
}
