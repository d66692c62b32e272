import type { Redis } from 'ioredis'
import { type KeyLayout, layoutOf, ROOT_TAG } from '../../platform/redis/key-layout.ts'
import { revocationStream, revokedKey } from '../../platform/redis/revocation-keys.ts'
import { type ArtifactRecord, fromArtifactRecord, hashId, toArtifactRecord } from './artifact-record.ts'
import { attemptRedis, readRedisClock, redisKeys } from './redis.ts'
import { listAccountIds } from './redis-accounts.ts'
import type { ScriptedRedis } from './redis-scripts.ts'
import { grantRevocation, keepSeconds, type RevocationContext } from './revocation-records.ts'
import type {
  ArtifactStore,
  ArtifactWrite,
  ListedArtifact,
  ListedPage,
  Store,
  StoredArtifact,
} from './store.ts'

export type RedisArtifacts = Pick<Store, 'exchange'> & {
  /** @param onEnded receives the hash of each grant that the store ended. */
  ofModel(model: string, onEnded: (grant: string) => void): ArtifactStore
  /** @returns the number of removed artifacts. */
  endGrant(grant: string): Promise<number>
  /** Writes an artifact that the caller read in another layout. The caller has only the hash of the id. */
  restore(write: Omit<ArtifactWrite, 'id'>, idHash: string): Promise<void>
}

/**
 * Models of unfinished authorization requests and sign-ins. The eviction scripts compare the numbers of artifacts of
 * all client networks, so all keys of these models need the same hash tag. The number of these artifacts is bounded.
 */
export const IN_ROOT: readonly string[] = ['Interaction', 'PushedAuthorizationRequest', 'SignInAttempt']

/**
 * Models that `list()` reads through the sets of the accounts. Operators end access with these lists, so the lists must
 * be complete. SCAN omits keys that move to another shard of a Redis Cluster during the scan.
 */
const OF_ACCOUNTS: readonly string[] = ['Grant', 'Session', 'Consent']

/** Number of accounts in one page of a list. */
const ACCOUNTS_AT_ONCE = 1_000
/** Number of sets that one step of a list reads. */
const SETS_AT_ONCE = 1_000
/** Approximate number of keys that Redis inspects for one page of a list. */
const SCANNED_AT_ONCE = 1_000

type PlacedWrite = {
  readonly tag: string
  readonly record: ArtifactRecord
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

/**
 * Creates the artifact stores.
 * In a Redis Cluster, the artifacts of a grant are in the partition of the grant. Other artifacts are in the partition
 * of their id. If the two partitions differ, the partition of the id contains a pointer. A pointer is a hash: its field
 * `g` contains the tag of the other partition. The pointer is written before the artifact, with the same expiry. A
 * pointer without an artifact does no harm.
 * Cost: one round trip for most operations; two for `findByUid`, `findByUserCode`, `upsertBounded` and revocations. In
 * a Redis Cluster, an operation on an artifact of a grant can need one more round trip.
 */
export function redisArtifacts(redis: ScriptedRedis, context: RevocationContext): RedisArtifacts {
  const layout = layoutOf(redis)
  const isSpread = layout.tags.length > 1
  const homeOf = (model: string, idHash: string): string =>
    IN_ROOT.includes(model) ? ROOT_TAG : layout.tagOf(idHash)
  const homeKey = (model: string, idHash: string): string =>
    redisKeys(homeOf(model, idHash)).artifact(model, idHash)

  /** Returns the hash tag of the partition that contains an artifact. */
  async function locate(model: string, idHash: string): Promise<string> {
    const home = homeOf(model, idHash)
    if (!isSpread || home === ROOT_TAG) return home
    return (await attemptRedis(() => redis.hget(homeKey(model, idHash), 'g'))) ?? home
  }

  function place(write: ArtifactWrite, at?: string): PlacedWrite {
    return placeRecord(write, toArtifactRecord(write), at)
  }

  function placeRecord(
    write: Omit<ArtifactWrite, 'id'>,
    record: ArtifactRecord,
    at: string | undefined,
  ): PlacedWrite {
    const tag = at ?? placeOf(write.model, record, layout)
    const keys = redisKeys(tag)
    const sets = setsOf(tag, record)
    const { payload, idHash, consumedAtSeconds } = record
    return {
      tag,
      record,
      keys: [
        keys.artifact(write.model, idHash),
        ...sets,
        ...(isSpread ? [] : pointersOf(write.model, record, layout)),
      ],
      args: [payload, consumedAtSeconds ?? '', write.expiresInSeconds ?? '', sets.length, idHash],
    }
  }

  /**
   * Writes the pointers to an artifact: from the partition of its id, from its uid and from its user code. Does nothing
   * on a single server, where the write script writes the pointers.
   * @returns the time of the consumption. Undefined: the partition of the id contained no consumed artifact.
   */
  async function point(
    write: Omit<ArtifactWrite, 'id'>,
    { tag, record }: PlacedWrite,
  ): Promise<string | undefined> {
    if (!isSpread) return undefined
    const { model, expiresInSeconds } = write
    const home = homeOf(model, record.idHash)
    const expiry = expiresInSeconds === undefined ? undefined : Math.max(1, expiresInSeconds)
    const [consumed] = await attemptRedis(() =>
      Promise.all([
        home === tag
          ? undefined
          : redis.pointArtifact(homeKey(model, record.idHash), tag, expiresInSeconds ?? ''),
        ...pointersOf(model, record, layout).map((pointer) =>
          expiry === undefined
            ? redis.set(pointer, record.idHash)
            : redis.set(pointer, record.idHash, 'EX', expiry),
        ),
      ]),
    )
    return typeof consumed === 'string' ? consumed : undefined
  }

  async function upsert(write: Omit<ArtifactWrite, 'id'>, placed: PlacedWrite): Promise<void> {
    const consumed = await point(write, placed)
    const [payload, own, ...rest] = placed.args
    const args = [payload ?? '', own === '' ? (consumed ?? '') : (own ?? ''), ...rest]
    const clear = isSpread ? ['1'] : []
    await attemptRedis(() => redis.upsertArtifact(placed.keys.length, ...placed.keys, ...args, ...clear))
  }

  async function exchangeAt(
    used: { readonly model: string; readonly idHash: string },
    writes: readonly ArtifactWrite[],
    tag: string,
  ): Promise<boolean> {
    const all = writes.map((write) => place(write, tag))
    await Promise.all(writes.map((write, at) => point(write, all[at] as PlacedWrite)))
    const keys = [redisKeys(tag).artifact(used.model, used.idHash), ...all.flatMap((one) => one.keys)]
    const args = all.flatMap((one) => [one.keys.length, ...one.args])
    return (await attemptRedis(() => redis.exchangeArtifact(keys.length, ...keys, ...args))) === 1
  }

  async function endGrant(grant: string): Promise<number> {
    const tag = layout.tagOf(grant)
    const keys = [redisKeys(tag).grant(grant), revocationStream(tag), revokedKey('grant', grant, tag)]
    const entry = grantRevocation(grant, context, await readRedisClock(redis, keys[0]))
    const [removed] = await attemptRedis(() =>
      Promise.all([
        redis.revokeGrant(...keys, entry, keepSeconds(context)),
        isSpread ? redis.removeMembers(redisKeys(ROOT_TAG).grant(grant)) : undefined,
      ]),
    )
    return Number(removed)
  }

  return {
    endGrant,
    restore: (write, idHash) => {
      const record = toArtifactRecord({ ...write, id: '' })
      const grantHash = write.model === 'Grant' ? idHash : record.grantHash
      return upsert(write, placeRecord(write, { ...record, idHash, grantHash }, undefined))
    },
    exchange: async ({ model, id }, writes) => {
      const used = { model, idHash: hashId(id) }
      // The consumed artifact and the written artifacts belong to one grant. The grant gives the partition, so reading
      // the pointer is not necessary.
      const expected = writes
        .map((write) => toArtifactRecord(write).grantHash)
        .find((one) => one !== undefined)
      const first = expected === undefined ? await locate(model, used.idHash) : layout.tagOf(expected)
      if (await exchangeAt(used, writes, first)) return true
      const actual = await locate(model, used.idHash)
      return actual !== first && exchangeAt(used, writes, actual)
    },
    ofModel: (model, onEnded) => {
      const find = async (idHash: string, id: string | undefined): Promise<StoredArtifact | undefined> => {
        let fields = await readFields(homeKey(model, idHash))
        const [, , tag] = fields
        if (typeof tag === 'string') fields = await readFields(redisKeys(tag).artifact(model, idHash))
        const [payload, consumed] = fields
        if (payload === null || payload === undefined) return undefined
        const consumedAtSeconds = typeof consumed === 'string' ? Number(consumed) : undefined
        return fromArtifactRecord({ payload, consumedAtSeconds }, id)
      }
      const readFields = (key: string): Promise<readonly (string | null)[]> =>
        attemptRedis(() => (isSpread ? redis.hmget(key, 'p', 'c', 'g') : redis.hmget(key, 'p', 'c')))
      // The pointers from the uid and the user code, and the set members, of a destroyed artifact stay until they
      // expire.
      const destroyByHash = async (idHash: string): Promise<boolean> => {
        const tag = await locate(model, idHash)
        const removed = await attemptRedis(() =>
          redis.destroyArtifact(...boundedKeys(tag, model, idHash), ...sourcePrefixes(tag, model)),
        )
        if (tag !== homeOf(model, idHash)) await attemptRedis(() => redis.del(homeKey(model, idHash)))
        return removed === 1
      }
      const revokeByGrantHash = async (grant: string): Promise<boolean> => {
        const isRevoked = (await endGrant(grant)) > 0
        if (isRevoked) onEnded(grant)
        return isRevoked
      }
      /** Reads artifacts of the model. Omits expired artifacts, and pointers to other partitions. */
      const readListed = async (keys: readonly string[]): Promise<readonly ListedArtifact[]> => {
        const found = await attemptRedis(() =>
          Promise.all(
            keys.map(async (key) => {
              const [[payload, consumed], leftMs] = await Promise.all([
                redis.hmget(key, 'p', 'c'),
                redis.pttl(key),
              ])
              return { key, payload, consumed, leftMs }
            }),
          ),
        )
        return found.flatMap(({ key, payload, consumed, leftMs }) => {
          if (typeof payload !== 'string') return []
          const consumedAtSeconds = typeof consumed === 'string' ? Number(consumed) : undefined
          return {
            idHash: key.slice(key.lastIndexOf(':') + 1),
            payload: fromArtifactRecord({ payload, consumedAtSeconds }, undefined),
            expiresAtSeconds: leftMs < 0 ? undefined : Math.ceil((Date.now() + leftMs) / 1_000),
          }
        })
      }
      const keysOfAccounts = async (accountIds: readonly string[]): Promise<readonly string[]> => {
        const tags = isSpread ? [ROOT_TAG, ...layout.tags] : layout.tags
        const found = await attemptRedis(() =>
          Promise.all(
            tags.flatMap((tag) => {
              const keys = redisKeys(tag)
              return accountIds.map(async (id) =>
                (await redis.zrange(keys.ofAccount(id), '0', '-1')).filter((key) =>
                  key.startsWith(keys.artifact(model, '')),
                ),
              )
            }),
          ),
        )
        return found.flat()
      }
      const listThroughAccounts = async (after = ''): Promise<ListedPage> => {
        const ids = (await listAccountIds(redis)).filter((id) => id > after)
        const page = ids.slice(0, ACCOUNTS_AT_ONCE)
        const step = Math.ceil(SETS_AT_ONCE / layout.tags.length)
        const listed: ListedArtifact[] = []
        for (let at = 0; at < page.length; at += step)
          listed.push(...(await readListed(await keysOfAccounts(page.slice(at, at + step)))))
        const last = page.at(-1)
        return ids.length > page.length && last !== undefined ? { listed, next: last } : { listed }
      }
      const scan = async (cursor = '0 0'): Promise<ListedPage> => {
        const [position = '0', ordinal = '0'] = cursor.split(' ')
        const nodes = primariesOf(redis)
        const node = nodes[Number(ordinal)]
        if (node === undefined) return { listed: [] }
        const pattern = redisKeys(isSpread ? '{scopegate*}' : ROOT_TAG).artifact(model, '*')
        const [next, keys] = await attemptRedis(() =>
          node.scan(position, 'MATCH', pattern, 'COUNT', SCANNED_AT_ONCE),
        )
        const listed = await readListed(keys)
        if (next !== '0') return { listed, next: `${next} ${ordinal}` }
        return Number(ordinal) + 1 < nodes.length ? { listed, next: `0 ${Number(ordinal) + 1}` } : { listed }
      }
      const findThrough = async (pointer: string): Promise<StoredArtifact | undefined> => {
        const idHash = await attemptRedis(() => redis.get(pointer))
        return idHash === null ? undefined : find(idHash, undefined)
      }
      return {
        upsert: (id, payload, expiresInSeconds) => {
          const write = { model, id, payload, expiresInSeconds }
          return upsert(write, place(write))
        },
        upsertBounded: async (id, payload, expiresInSeconds, { source, bound }) => {
          // Writes the artifact before its record, so that an eviction by another request between the two scripts finds
          // the artifact.
          const write = { model, id, payload, expiresInSeconds }
          const tag = ROOT_TAG
          await upsert(write, place(write, tag))
          await attemptRedis(() =>
            redis.admitArtifact(
              ...boundedKeys(tag, model, hashId(id)),
              ...sourcePrefixes(tag, model),
              hashId(source.network),
              hashId(source.address),
              expiresInSeconds,
              bound.perAddress,
              bound.total,
            ),
          )
        },
        find: (id) => find(hashId(id), id),
        findByUid: (uid) => findThrough(redisKeys(layout.tagOf(hashId(uid))).uid(model, hashId(uid))),
        findByUserCode: (userCode) => {
          const name = hashId(userCode)
          return findThrough(redisKeys(layout.tagOf(name)).userCode(model, name))
        },
        consume: async (id) => {
          const idHash = hashId(id)
          const first = await attemptRedis(() => redis.consumeArtifact(homeKey(model, idHash)))
          if (typeof first !== 'string') return first === 1
          const key = redisKeys(first).artifact(model, idHash)
          return (await attemptRedis(() => redis.consumeArtifact(key))) === 1
        },
        claim: async (id, expiresInSeconds) =>
          (await attemptRedis(() => redis.claimArtifact(homeKey(model, hashId(id)), expiresInSeconds))) === 1,
        findByHash: (idHash) => find(idHash, undefined),
        replace: async (id, payload, expiresInSeconds) => {
          const write = { model, id, payload, expiresInSeconds }
          const placed = place(write)
          await point(write, placed)
          const { keys, args } = placed
          return (await attemptRedis(() => redis.replaceArtifact(keys.length, ...keys, ...args))) === 1
        },
        destroy: (id) => destroyByHash(hashId(id)),
        destroyByHash,
        list: (cursor) => (OF_ACCOUNTS.includes(model) ? listThroughAccounts(cursor) : scan(cursor)),
        listByAccount: async (accountId) => readListed(await keysOfAccounts([accountId])),
        revokeByGrantId: async (grantId) => void (await revokeByGrantHash(hashId(grantId))),
        revokeByGrantHash,
      }
    },
  }
}

/** Returns the clients of all primaries, in a stable order. */
function primariesOf(redis: ScriptedRedis): readonly Redis[] {
  const addressOf = ({ options }: Redis): string => `${options.host}:${options.port}`
  return 'nodes' in redis
    ? redis.nodes('master').sort((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1))
    : [redis]
}

function placeOf(model: string, record: ArtifactRecord, layout: KeyLayout): string {
  return IN_ROOT.includes(model) ? ROOT_TAG : layout.tagOf(record.grantHash ?? record.idHash)
}

function setsOf(tag: string, record: ArtifactRecord): readonly string[] {
  const keys = redisKeys(tag)
  return [
    ...(record.grantHash === undefined ? [] : [keys.grant(record.grantHash)]),
    ...(record.accountId === undefined ? [] : [keys.ofAccount(record.accountId)]),
  ]
}

function pointersOf(
  model: string,
  { uidHash, userCodeHash }: ArtifactRecord,
  layout: KeyLayout,
): readonly string[] {
  return [
    ...(uidHash === undefined ? [] : [redisKeys(layout.tagOf(uidHash)).uid(model, uidHash)]),
    ...(userCodeHash === undefined
      ? []
      : [redisKeys(layout.tagOf(userCodeHash)).userCode(model, userCodeHash)]),
  ]
}

function boundedKeys(tag: string, model: string, idHash: string): readonly string[] {
  const keys = redisKeys(tag)
  return [
    keys.artifact(model, idHash),
    keys.bounded(model),
    keys.sourceOf(model),
    keys.sources(model),
    keys.addressOf(model),
  ]
}

function sourcePrefixes(tag: string, model: string): readonly string[] {
  const keys = redisKeys(tag)
  return [keys.ofSource(model), keys.ofAddress(model), keys.addressesOf(model)]
}
