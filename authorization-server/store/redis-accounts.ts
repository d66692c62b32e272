import { layoutOf, ROOT_TAG } from '../../platform/redis/key-layout.ts'
import { revocationStream, revokedKey } from '../../platform/redis/revocation-keys.ts'
import { revocationName } from '../../platform/revocation-name.ts'
import { claimsOf, fromAccountRecord, toAccountRecord } from './account-record.ts'
import { hashId } from './artifact-record.ts'
import { attemptRedis, REDIS_KEYS, readRedisClock, redisKeys } from './redis.ts'
import type { ScriptedRedis } from './redis-scripts.ts'
import {
  accountRevocation,
  disabledRevocation,
  disabledUpToSeconds,
  keepSeconds,
  REMOVED_ACCOUNT_AT_SECONDS,
  type RevocationContext,
} from './revocation-records.ts'
import type { AccountIdentity, AccountStore, StoredAccount } from './store.ts'

export type RedisAccounts = AccountStore & {
  /**
   * Completes the steps that are missing after a server stopped during the removal or the disabling of an account.
   * Needed only in a Redis Cluster.
   */
  finishRemovals(): Promise<void>
}

/**
 * Creates the account store in Redis. The store has a hash for each account, a pointer from each username and identity,
 * and a set for each origin. All accounts have one hash tag.
 * In a Redis Cluster, the artifacts of an account are in many partitions, so the removal of an account takes several
 * steps. The first step removes or disables the account and records the removal of its artifacts. The later steps can be
 * repeated.
 */
export function openRedisAccounts(redis: ScriptedRedis, context: RevocationContext): RedisAccounts {
  const layout = layoutOf(redis)
  const isSpread = layout.tags.length > 1
  const findById = async (id: string): Promise<StoredAccount | undefined> => {
    const fields = await attemptRedis(() => redis.hgetall(REDIS_KEYS.account(id)))
    return fields['username'] === undefined ? undefined : toAccount(id, fields)
  }
  /** Returns the keys and arguments of a revocation of all tokens of an account. */
  async function revocationOf(
    id: string,
    reason: 'removed' | 'disabled',
  ): Promise<{ keys: readonly string[]; args: readonly (string | number)[] }> {
    const subject = revocationName(context.issuer, id)
    const tag = layout.tagOf(subject)
    const keys = [revocationStream(tag), revokedKey('subject', subject, tag)]
    const now = await readRedisClock(redis, keys[0])
    const isRemoved = reason === 'removed'
    const entry = isRemoved ? accountRevocation(id, context, now) : disabledRevocation(id, context, now)
    const upTo = isRemoved ? REMOVED_ACCOUNT_AT_SECONDS : disabledUpToSeconds(now)
    return { keys, args: [entry, keepSeconds(context), upTo] }
  }

  async function finishRemoval(id: string): Promise<void> {
    const isRemoved = (await findById(id)) === undefined
    const { keys, args } = await revocationOf(id, isRemoved ? 'removed' : 'disabled')
    await attemptRedis(() => redis.publishRevocation(...keys, ...args))
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
    findByIdentity: async (issuer, subject) => {
      const id = await attemptRedis(() => redis.get(identityKey({ issuer, subject })))
      return id === null ? undefined : findById(id)
    },
    insert: async (account) => {
      const { id: _id, ...record } = toAccountRecord(account)
      const fields = Object.entries(record).flatMap(([column, value]) =>
        value === null ? [] : [FIELDS[column as keyof typeof record], value],
      )
      const keys = [REDIS_KEYS.origin(account.origin), ...keysOf(account)]
      return (
        (await attemptRedis(() => redis.insertAccount(keys.length, ...keys, account.id, ...fields))) === 1
      )
    },
    setPasswordHash: async (id, passwordHash, replaced) => {
      const key = REDIS_KEYS.account(id)
      await attemptRedis(() =>
        replaced === undefined
          ? redis.setAccountFields(key, 'passwordHash', passwordHash)
          : redis.replaceAccountField(key, FIELDS.password_hash, replaced, passwordHash),
      )
    },
    update: async (account) => {
      const { id, name, email = '' } = account
      const fields = ['name', name, 'email', email, 'claims', claimsOf(account) ?? '']
      await attemptRedis(() => redis.setAccountFields(REDIS_KEYS.account(id), ...fields))
    },
    setSecondFactor: async (id, expected = '', next = '') =>
      (await attemptRedis(() =>
        redis.replaceAccountField(REDIS_KEYS.account(id), FIELDS.second_factor, expected, next),
      )) === 1,
    list: async ({ after = '', limit }) => {
      const found: StoredAccount[] = []
      let ids = (await listAccountIds(redis)).filter((id) => id > after)
      // Another process can remove an account between the two reads.
      while (ids.length > 0 && found.length < limit) {
        const missing = limit - found.length
        const accounts = await Promise.all(ids.slice(0, missing).map(findById))
        found.push(...accounts.filter((account) => account !== undefined))
        ids = ids.slice(missing)
      }
      return found
    },
    listByOrigin: async (origin) => {
      const ids = await attemptRedis(() => redis.smembers(REDIS_KEYS.origin(origin)))
      const found = await Promise.all(ids.map(findById))
      return found
        .filter((account) => account !== undefined)
        .sort((a, b) => (a.username < b.username ? -1 : 1))
    },
    setDisabled: async (id, atSeconds) => {
      const key = REDIS_KEYS.account(id)
      if (atSeconds === undefined) {
        // Otherwise, a sweep would later end the access of the enabled account.
        if (isSpread && (await attemptRedis(() => redis.sismember(REDIS_KEYS.removals, id))) === 1)
          await finishRemoval(id)
        return void (await attemptRedis(() => redis.setAccountFields(key, 'disabledAtSeconds', '')))
      }
      if (isSpread) {
        const began = await attemptRedis(() => redis.beginDisabling(key, REDIS_KEYS.removals, id, atSeconds))
        return began === 1 ? finishRemoval(id) : undefined
      }
      const { keys, args } = await revocationOf(id, 'disabled')
      await attemptRedis(() =>
        redis.disableAccount(key, REDIS_KEYS.ofAccount(id), ...keys, atSeconds, ...args),
      )
    },
    remove: async (id) => {
      const account = await findById(id)
      if (account === undefined) return
      const own = [REDIS_KEYS.origin(account.origin), ...keysOf(account)]
      if (isSpread) {
        const keys = [REDIS_KEYS.removals, ...own]
        await attemptRedis(() => redis.beginRemoval(keys.length, ...keys, id))
        return finishRemoval(id)
      }
      const { keys: published, args } = await revocationOf(id, 'removed')
      const keys = [REDIS_KEYS.ofAccount(id), ...published, ...own]
      await attemptRedis(() => redis.removeAccount(keys.length, ...keys, id, ...args))
    },
  }
}

/** Returns the sorted IDs of all accounts. Another process can remove an account during the call. */
export async function listAccountIds(redis: ScriptedRedis): Promise<readonly string[]> {
  const ids = await attemptRedis(() =>
    Promise.all(ORIGINS.map((origin) => redis.smembers(REDIS_KEYS.origin(origin)))),
  )
  return ids.flat().sort()
}

const ORIGINS = ['operator', 'development', 'provider'] as const

const FIELDS = {
  username: 'username',
  name: 'name',
  email: 'email',
  password_hash: 'passwordHash',
  origin: 'origin',
  created_at: 'createdAtSeconds',
  identity_issuer: 'identityIssuer',
  identity_subject: 'identitySubject',
  disabled_at: 'disabledAtSeconds',
  claims: 'claims',
  second_factor: 'secondFactor',
} as const

function identityKey({ issuer, subject }: Pick<AccountIdentity, 'issuer' | 'subject'>): string {
  return REDIS_KEYS.identity(hashId(`${issuer}\n${subject}`))
}

/** Returns the keys of an account and of its pointers (username, identity). */
function keysOf({ id, username, identity }: StoredAccount): readonly string[] {
  const pointers = identity === undefined ? [] : [identityKey(identity)]
  return [REDIS_KEYS.account(id), REDIS_KEYS.username(username), ...pointers]
}

function toAccount(id: string, fields: Readonly<Record<string, string>>): StoredAccount {
  const columns = Object.entries(FIELDS).map(([column, field]) => [column, fields[field]])
  return fromAccountRecord({ id, ...Object.fromEntries(columns) })
}
