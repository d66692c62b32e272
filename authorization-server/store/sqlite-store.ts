import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { fromArtifactRecord, hashId, toArtifactColumns } from './artifact-record.ts'
import { grantRevocation, type RevocationContext } from './revocation-records.ts'
import { attemptSqlite, transact } from './sqlite.ts'
import { type SqliteParts, sqliteAccounts } from './sqlite-accounts.ts'
import { sqliteAttempts } from './sqlite-attempts.ts'
import { BUSY_TIMEOUT_MS, openSqliteFile, setBusyTimeout } from './sqlite-file.ts'
import { sqliteRevocations } from './sqlite-revocations.ts'
import type {
  ArtifactSource,
  ArtifactStore,
  ArtifactWrite,
  ListedArtifact,
  Store,
  StoredArtifact,
} from './store.ts'

const PROBE_SECONDS = 60
/** Maximum number of artifacts in a page of a list. */
const LISTED_AT_ONCE = 500
/** Maximum wait of the probe for a lock: long enough for a write of another process. Milliseconds. */
const PROBE_BUSY_TIMEOUT_MS = 100

type Row = Record<string, SQLOutputValue>

export type SqliteStoreOptions = RevocationContext & { readonly nowSeconds: () => number }

/**
 * Opens the store in one SQLite file. Any number of processes on one machine can share the file.
 * Cost: each write is one transaction and one disk flush. Reads take no lock.
 * @throws {BootError} the errors of {@link openSqliteFile}.
 */
export function openSqliteStore(file: string, options: SqliteStoreOptions): Store {
  const database = openSqliteFile(file)
  const statements = prepareStatements(database)
  const revocations = sqliteRevocations(database, options)
  const { nowSeconds } = options
  const parts: ArtifactParts = { database, statements, revocations, context: options, nowSeconds }
  const attempts = sqliteAttempts({ database, nowSeconds })
  return {
    artifacts: (model) => artifacts(model, parts),
    exchange: async (used, writes) => {
      const now = options.nowSeconds()
      let isFirst = false
      transact(database, () => {
        isFirst = statements.consume.run(now, used.model, hashId(used.id), now).changes === 1
        if (isFirst) for (const write of writes) upsert(write, null, parts)
      })
      return isFirst
    },
    accounts: sqliteAccounts(parts),
    attempts,
    revocations,
    probe: async () => {
      const write = { model: 'WriteProbe', id: 'probe', payload: {}, expiresInSeconds: PROBE_SECONDS }
      attemptSqlite(() => {
        // The probe waits only briefly, because node:sqlite blocks the event loop while it waits for a lock.
        setBusyTimeout(database, PROBE_BUSY_TIMEOUT_MS)
        try {
          upsert(write, null, parts)
        } finally {
          setBusyTimeout(database, BUSY_TIMEOUT_MS)
        }
      })
      return undefined
    },
    sweep: async (nowSeconds) =>
      attemptSqlite(() => {
        revocations.trim(nowSeconds)
        attempts.sweep(nowSeconds)
        return Number(statements.sweep.run(nowSeconds).changes)
      }),
    close: async () => {
      revocations.close()
      if (database.isOpen) database.close()
    },
  }
}

type ArtifactParts = SqliteParts & { readonly statements: Statements }

function artifacts(model: string, parts: ArtifactParts): ArtifactStore {
  const { database, statements, revocations, nowSeconds } = parts
  const destroyByHash = async (idHash: string): Promise<boolean> =>
    attemptSqlite(() => statements.destroy.run(model, idHash).changes) === 1
  const revokeByGrantHash = async (grant: string): Promise<boolean> => {
    const now = nowSeconds()
    let isRevoked = false
    transact(database, () => {
      isRevoked = statements.revokeByGrant.run(grant).changes > 0
      if (isRevoked) revocations.append(grantRevocation(grant, parts.context, now), now)
    })
    revocations.notify()
    return isRevoked
  }
  const evictFromLargest = (): void => {
    const network = statements.largestNetwork.get(model)?.['network']
    if (typeof network !== 'string') return void statements.evictOldest.run(model)
    const address = statements.largestAddress.get(model, network)?.['address']
    if (typeof address !== 'string') statements.evictOldestOfNetwork.run(model, network)
    else statements.evictOldestOfAddress.run(model, address)
  }
  return {
    upsert: async (id, payload, expiresInSeconds) =>
      attemptSqlite(() => upsert({ model, id, payload, expiresInSeconds }, null, parts)),
    upsertBounded: async (id, payload, expiresInSeconds, { source, bound }) => {
      const hashes = { address: hashId(source.address), network: hashId(source.network) }
      transact(database, () => {
        upsert({ model, id, payload, expiresInSeconds }, hashes, parts)
        statements.evictOfAddress.run(model, hashes.address, bound.perAddress)
        let surplus = Number(statements.countBounded.get(model)?.['held']) - bound.total
        for (; surplus > 0; surplus--) evictFromLargest()
      })
    },
    find: async (id, { expired } = { expired: false }) =>
      read(
        attemptSqlite(() =>
          expired
            ? statements.findExpired.get(model, hashId(id))
            : statements.find.get(model, hashId(id), nowSeconds()),
        ),
        id,
      ),
    findByHash: async (idHash) =>
      read(
        attemptSqlite(() => statements.find.get(model, idHash, nowSeconds())),
        undefined,
      ),
    findByUid: async (uid) =>
      read(
        attemptSqlite(() => statements.findByUid.get(model, hashId(uid), nowSeconds())),
        undefined,
      ),
    findByUserCode: async (code) =>
      read(
        attemptSqlite(() => statements.findByUserCode.get(model, hashId(code), nowSeconds())),
        undefined,
      ),
    consume: async (id) => {
      const now = nowSeconds()
      return attemptSqlite(() => statements.consume.run(now, model, hashId(id), now).changes) === 1
    },
    claim: async (id, expiresInSeconds) => {
      const now = nowSeconds()
      const row = [model, hashId(id), now + expiresInSeconds, now]
      return attemptSqlite(() => statements.claim.run(...row).changes) === 1
    },
    replace: async (id, payload, expiresInSeconds) => {
      const now = nowSeconds()
      const [, idHash, ...columns] = toArtifactColumns({ model, id, payload, expiresInSeconds }, now)
      return attemptSqlite(() => statements.replace.run(...columns, model, idHash ?? null, now).changes) === 1
    },
    destroy: (id) => destroyByHash(hashId(id)),
    destroyByHash,
    list: async (cursor = '') => {
      const rows = attemptSqlite(() => statements.list.all(model, cursor, nowSeconds(), LISTED_AT_ONCE))
      const listed = rows.map(toListed)
      const last = listed.length < LISTED_AT_ONCE ? undefined : listed.at(-1)
      return { listed, ...(last === undefined ? {} : { next: last.idHash }) }
    },
    listByAccount: async (accountId) =>
      attemptSqlite(() => statements.listByAccount.all(model, accountId, nowSeconds()).map(toListed)),
    revokeByGrantId: async (grantId) => void (await revokeByGrantHash(hashId(grantId))),
    revokeByGrantHash,
  }
}

function toListed(row: Row): ListedArtifact {
  const { expires_at: expiresAt } = row
  return {
    idHash: String(row['id']),
    payload: toArtifact(row, undefined),
    expiresAtSeconds: typeof expiresAt === 'number' ? expiresAt : undefined,
  }
}

/** @param source hashes of the source, for an artifact of a bounded model. */
function upsert(
  write: ArtifactWrite,
  source: ArtifactSource | null,
  { statements, nowSeconds }: ArtifactParts,
): void {
  statements.upsert.run(
    ...toArtifactColumns(write, nowSeconds()),
    source?.network ?? null,
    source?.address ?? null,
  )
}

type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>

const LIVE = '(expires_at is null or expires_at > ?)'
const SELECT = 'select payload, consumed_at from artifacts where model = ?'
const SELECT_LISTED = 'select id, payload, consumed_at, expires_at from artifacts where model = ?'

const SQL = {
  // A consumed artifact stays consumed, so that a second write cannot make a code or refresh token usable again.
  upsert: `insert into artifacts
      (model, id, payload, grant_id, uid, user_code, account_id, consumed_at, expires_at, source, address)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid,
      user_code = excluded.user_code, account_id = excluded.account_id, expires_at = excluded.expires_at,
      consumed_at = coalesce(artifacts.consumed_at, excluded.consumed_at)`,
  // A second write keeps the rowid of an artifact, so the oldest artifact has the smallest rowid.
  evictOfAddress: `delete from artifacts where rowid in
    (select rowid from artifacts where model = ? and address = ? order by rowid desc limit -1 offset ?)`,
  countBounded: "select held from artifact_counts where model = ? and source = ''",
  largestNetwork: `select source as network from artifact_counts where model = ? and source <> '' and held > 1
    order by held desc, source desc limit 1`,
  largestAddress: `select address from address_counts where model = ? and network = ? and held > 1
    order by held desc, address desc limit 1`,
  evictOldestOfNetwork: `delete from artifacts where rowid =
    (select min(rowid) from artifacts where model = ? and source = ?)`,
  evictOldestOfAddress: `delete from artifacts where rowid =
    (select min(rowid) from artifacts where model = ? and address = ?)`,
  evictOldest: `delete from artifacts where rowid =
    (select rowid from artifacts where model = ? and source is not null order by expires_at, rowid limit 1)`,
  find: `${SELECT} and id = ? and ${LIVE}`,
  findExpired: `${SELECT} and id = ?`,
  findByUid: `${SELECT} and uid = ? and ${LIVE} order by rowid desc limit 1`,
  findByUserCode: `${SELECT} and user_code = ? and ${LIVE} order by rowid desc limit 1`,
  list: `${SELECT_LISTED} and id > ? and ${LIVE} order by id limit ?`,
  listByAccount: `${SELECT_LISTED} and account_id = ? and ${LIVE}`,
  consume: `update artifacts set consumed_at = ? where model = ? and id = ? and consumed_at is null and ${LIVE}`,
  replace: `update artifacts set payload = ?, grant_id = ?, uid = ?, user_code = ?, account_id = ?,
      consumed_at = coalesce(consumed_at, ?), expires_at = ?
    where model = ? and id = ? and ${LIVE}`,
  claim: `insert into artifacts (model, id, payload, expires_at) values (?, ?, '{}', ?)
    on conflict (model, id) do update set expires_at = excluded.expires_at where artifacts.expires_at <= ?`,
  destroy: 'delete from artifacts where model = ? and id = ?',
  revokeByGrant: 'delete from artifacts where grant_id = ?',
  sweep: 'delete from artifacts where expires_at <= ?',
} as const

function prepareStatements(database: DatabaseSync): Statements {
  return Object.fromEntries(
    Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]),
  ) as Statements
}

function read(row: Row | undefined, id: string | undefined): StoredArtifact | undefined {
  return row === undefined ? undefined : toArtifact(row, id)
}

function toArtifact(row: Row, id: string | undefined): StoredArtifact {
  const consumedAt = row['consumed_at']
  const stored = {
    payload: String(row['payload']),
    consumedAtSeconds: typeof consumedAt === 'number' ? consumedAt : undefined,
  }
  return fromArtifactRecord(stored, id)
}
