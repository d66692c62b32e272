import { REVOCATION_STREAM, revokedKey } from '../../platform/redis/revocation-keys.ts'
import { revocationName } from '../../platform/revocation-name.ts'
import { attemptRedis, REDIS_KEYS, readRedisClock } from './redis.ts'
import type { ScriptedRedis } from './redis-scripts.ts'
import {
  accountRevocation,
  keepSeconds,
  REMOVED_ACCOUNT_AT_SECONDS,
  type RevocationContext,
} from './revocation-records.ts'
import type { AccountStore, StoredAccount } from './store.ts'

/**
 * Creates the account store in Redis. It has a hash for each account, a pointer from each username, and a set for each
 * origin.
 */
export function redisAccounts(redis: ScriptedRedis, context: RevocationContext): AccountStore {
  const findById = async (id: string): Promise<StoredAccount | undefined> => {
    const fields = await attemptRedis(() => redis.hgetall(REDIS_KEYS.account(id)))
    return fields['username'] === undefined ? undefined : toAccount(id, fields)
  }
  return {
    findById,
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
      const keys = [
        REDIS_KEYS.ofAccount(id),
        REDIS_KEYS.account(id),
        REDIS_KEYS.username(username),
        REDIS_KEYS.origin(origin),
        REVOCATION_STREAM,
        revokedKey('subject', revocationName(context.issuer, id)),
      ]
      const entry = accountRevocation(id, context, await readRedisClock(redis))
      await attemptRedis(() =>
        redis.removeAccount(...keys, id, entry, keepSeconds(context), REMOVED_ACCOUNT_AT_SECONDS),
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
