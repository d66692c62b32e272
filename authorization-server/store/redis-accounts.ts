import { layoutOf, ROOT_TAG } from '../../platform/redis/key-layout.ts'
import { revocationStream, revokedKey } from '../../platform/redis/revocation-keys.ts'
import { revocationName } from '../../platform/revocation-name.ts'
import { attemptRedis, REDIS_KEYS, readRedisClock, redisKeys } from './redis.ts'
import type { ScriptedRedis } from './redis-scripts.ts'
import {
  accountRevocation,
  keepSeconds,
  REMOVED_ACCOUNT_AT_SECONDS,
  type RevocationContext,
} from './revocation-records.ts'
import type { AccountStore, StoredAccount } from './store.ts'

export type RedisAccounts = AccountStore & {
  /** Completes the removals of accounts that another process began. */
  finishRemovals(): Promise<void>
}

/**
 * Creates the account store in Redis. The store has a hash for each account, a pointer from each username, and a set
 * for each origin. All accounts have one hash tag.
 * In a Redis Cluster, the artifacts of an account are in many partitions, so the removal of an account takes several
 * steps. The first step removes the account and records the removal. The later steps can be repeated.
 */
export function openRedisAccounts(redis: ScriptedRedis, context: RevocationContext): RedisAccounts {
  const layout = layoutOf(redis)
  const isSpread = layout.tags.length > 1
  const findById = async (id: string): Promise<StoredAccount | undefined> => {
    const fields = await attemptRedis(() => redis.hgetall(REDIS_KEYS.account(id)))
    return fields['username'] === undefined ? undefined : toAccount(id, fields)
  }
  async function revocationOf(id: string): Promise<{ keys: readonly string[]; entry: string }> {
    const subject = revocationName(context.issuer, id)
    const tag = layout.tagOf(subject)
    const keys = [revocationStream(tag), revokedKey('subject', subject, tag)]
    return { keys, entry: accountRevocation(id, context, await readRedisClock(redis, keys[0])) }
  }

  async function finishRemoval(id: string): Promise<void> {
    const { keys, entry } = await revocationOf(id)
    const marked = [entry, keepSeconds(context), REMOVED_ACCOUNT_AT_SECONDS]
    await attemptRedis(() => redis.publishRevocation(...keys, ...marked))
    await attemptRedis(() =>
      Promise.all([ROOT_TAG, ...layout.tags].map((tag) => redis.removeMembers(redisKeys(tag).ofAccount(id)))),
    )
    await attemptRedis(() => redis.srem(REDIS_KEYS.removals, id))
  }

  return {
    findById,
    finishRemovals: async () => {
      if (!isSpread) return
      const ids = await attemptRedis(() => redis.smembers(REDIS_KEYS.removals))
      for (const id of ids) await finishRemoval(id)
    },
    findByUsername: async (username) => {
      const id = await attemptRedis(() => redis.get(REDIS_KEYS.username(username)))
      return id === null ? undefined : findById(id)
    },
    insert: async (account) => {
      const { id, username, name, email, passwordHash, origin, createdAtSeconds } = account
      const keys = [REDIS_KEYS.account(id), REDIS_KEYS.username(username), REDIS_KEYS.origin(origin)]
      const fields = ['username', username, 'name', name, 'passwordHash', passwordHash, 'origin', origin]
      const mail = email === undefined ? [] : ['email', email]
      const args = [id, ...fields, ...mail, 'createdAtSeconds', createdAtSeconds]
      return (await attemptRedis(() => redis.insertAccount(...keys, ...args))) === 1
    },
    setPasswordHash: async (id, passwordHash) =>
      void (await attemptRedis(() =>
        redis.setAccountField(REDIS_KEYS.account(id), 'passwordHash', passwordHash),
      )),
    listByOrigin: async (origin) => {
      const ids = await attemptRedis(() => redis.smembers(REDIS_KEYS.origin(origin)))
      const found = await Promise.all(ids.map(findById))
      return found
        .filter((account) => account !== undefined)
        .sort((a, b) => (a.username < b.username ? -1 : 1))
    },
    remove: async (id) => {
      const account = await findById(id)
      if (account === undefined) return
      const { username, origin } = account
      const own = [REDIS_KEYS.account(id), REDIS_KEYS.username(username), REDIS_KEYS.origin(origin)]
      if (isSpread) {
        await attemptRedis(() => redis.beginRemoval(...own, REDIS_KEYS.removals, id))
        return finishRemoval(id)
      }
      const { keys, entry } = await revocationOf(id)
      await attemptRedis(() =>
        redis.removeAccount(
          REDIS_KEYS.ofAccount(id),
          ...own,
          ...keys,
          id,
          entry,
          keepSeconds(context),
          REMOVED_ACCOUNT_AT_SECONDS,
        ),
      )
    },
  }
}

function toAccount(id: string, fields: Readonly<Record<string, string>>): StoredAccount {
  return {
    id,
    username: fields['username'] ?? '',
    name: fields['name'] ?? '',
    email: fields['email'],
    passwordHash: fields['passwordHash'] ?? '',
    origin: fields['origin'] === 'development' ? 'development' : 'operator',
    createdAtSeconds: Number(fields['createdAtSeconds']),
  }
}
