import type { QueryConfig } from 'pg'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { fromArtifactRecord, hashId, toArtifactColumns } from './artifact-record.ts'
import { attemptPostgres, explainPostgres, readPostgresClock } from './postgres.ts'
import { postgresAccounts } from './postgres-accounts.ts'
import { postgresAttempts } from './postgres-attempts.ts'
import { openPostgresPool, type PostgresConnection, type PostgresPool } from './postgres-connection.ts'
import { openPostgresRevocations } from './postgres-revocations.ts'
import { migratePostgres, POSTGRES_SCHEMA_VERSION } from './postgres-schema.ts'
import {
  createRevokedGrantCache,
  grantRevocation,
  keepSeconds,
  MARGIN_SECONDS,
  type RevocationContext,
  type RevokedGrantCache,
} from './revocation-records.ts'
import type {
  ArtifactBound,
  ArtifactSource,
  ArtifactStore,
  ArtifactWrite,
  ListedArtifact,
  Store,
  StoredArtifact,
} from './store.ts'

const PROBE = { model: 'WriteProbe', id: 'probe', payload: {}, expiresInSeconds: 60 }
/** Maximum time of one statement of a migration, for example of the statement that waits for another server. */
const MIGRATION_MS = 300_000
/**
 * Maximum number of artifacts that one statement of a sweep deletes, so that the statement stays below the statement
 * timeout.
 */
const SWEEP_BATCH = 5_000
/** Maximum number of artifacts in a page of a list. */
const LISTED_AT_ONCE = 500
/**
 * Maximum number of stored revocations. Above this number, the store deletes the oldest revocations. A reader that
 * missed a deleted entry starts again.
 */
const MAX_REVOCATIONS = 100_000

export type PostgresStoreOptions = RevocationContext & {
  readonly nowSeconds: () => number
  readonly logger?: Pick<Logger, 'warn' | 'info'>
}

/**
 * Opens the store in PostgreSQL, which replicas can share. Expiry uses the clock of PostgreSQL. Cost: one round trip
 * and one transaction for most operations. Operations that evict artifacts, log a revocation, or reject or release an
 * attempt need two or three round trips and transactions.
 * @throws {BootError} ERR_POSTGRES_*, ERR_SECRET_FILE, ERR_STORE_TOO_NEW.
 */
export async function openPostgresStore(
  connection: PostgresConnection,
  options: PostgresStoreOptions,
): Promise<Store> {
  const pool = await openPostgresPool(connection)
  try {
    await prepareDatabase(pool)
  } catch (error) {
    await pool.close()
    throw explainPostgres(pool.where, error)
  }
  const ended = createRevokedGrantCache(options)
  const revocations = openPostgresRevocations({
    pool,
    onRevoked: (received) => {
      for (const { grant } of received) if (grant !== undefined) ended.add(grant)
    },
    onGap: () => revokeAgain(ended, pool, options),
  })
  const attempts = postgresAttempts(pool)
  const parts: Parts = { pool, context: options, ended, evict: createEviction(pool) }
  return {
    artifacts: (model) => artifacts(model, parts),
    exchange: async (used, writes) => {
      const { rows } = await attemptPostgres(() =>
        pool.query<{ first: boolean }>(exchangeStatement(used, writes)),
      )
      return rows[0]?.first === true
    },
    accounts: postgresAccounts(pool, options),
    attempts,
    revocations,
    probe: async () => {
      const sentMs = Date.now()
      const { rows } = await attemptPostgres(() => pool.query<{ now: string }>(upsertStatement(PROBE)))
      const middleMs = (sentMs + Date.now()) / 2
      return middleMs / 1_000 - Number(rows[0]?.now)
    },
    sweep: async () => {
      await attempts.sweep()
      return sweep(pool, options)
    },
    close: async () => {
      await revocations.close()
      await pool.close()
    },
  }
}

/** Migrates the database, and proves that the database accepts writes. */
async function prepareDatabase(pool: PostgresPool): Promise<void> {
  const client = await pool.connect({ statementMs: MIGRATION_MS })
  let found: number
  try {
    found = await migratePostgres(client)
  } finally {
    await client.end().catch(() => undefined)
  }
  if (found > POSTGRES_SCHEMA_VERSION)
    throw new BootError(
      'ERR_STORE_TOO_NEW',
      `PostgreSQL at ${pool.where} has schema version ${found}; this program supports versions up to ${POSTGRES_SCHEMA_VERSION}. Start the newer Scopegate that wrote it, or undo the newer versions (docs/upgrade.md#downgrade).`,
    )
  await pool.query(upsertStatement(PROBE))
}

type Evict = (model: string, address: string, bound: ArtifactBound) => Promise<void>

/**
 * Creates the function that evicts bounded artifacts. For each model and bound, one statement runs at a time, and the
 * next statement serves all waiting callers. During a flood of requests, these evictions therefore use only one
 * connection.
 */
function createEviction(pool: PostgresPool): Evict {
  const queues = new Map<
    string,
    { running: Promise<void>; next: Set<string> | undefined; done: Promise<void> }
  >()
  return (model, address, bound) => {
    const key = `${model} ${bound.perAddress} ${bound.total}`
    const queue = queues.get(key) ?? { running: Promise.resolve(), next: undefined, done: Promise.resolve() }
    queues.set(key, queue)
    if (queue.next !== undefined) {
      queue.next.add(address)
      return queue.done
    }
    const addresses = new Set([address])
    queue.next = addresses
    queue.done = queue.running.then(async () => {
      queue.next = undefined
      const values = [model, [...addresses], bound.perAddress, bound.total]
      await attemptPostgres(() => pool.query({ name: 'evict', text: EVICT, values }), true)
    })
    queue.running = queue.done.catch(() => undefined)
    return queue.done
  }
}

type Parts = {
  readonly pool: PostgresPool
  readonly context: RevocationContext
  readonly ended: RevokedGrantCache
  readonly evict: Evict
}

type ArtifactRow = { readonly payload: string; readonly consumed_at: string | null }
/** `expires_at` is a Unix time with fractions. */
type ListedRow = ArtifactRow & { readonly id: string; readonly expires_at: string | null }

function artifacts(model: string, { pool, context, ended, evict }: Parts): ArtifactStore {
  const findHashed = async (name: keyof typeof FIND, hashed: string): Promise<ArtifactRow | undefined> => {
    if (hashed.includes('\0')) return undefined // no hash contains NUL, and PostgreSQL rejects NUL
    const statement = { name, text: FIND[name], values: [model, hashed] }
    return (await attemptPostgres(() => pool.query<ArtifactRow>(statement), true)).rows[0]
  }
  const find = (name: keyof typeof FIND, value: string): Promise<ArtifactRow | undefined> =>
    findHashed(name, hashId(value))
  const list = async (
    name: keyof typeof LIST,
    ...values: readonly (string | number)[]
  ): Promise<readonly ListedArtifact[]> => {
    const statement = { name, text: LIST[name], values: [model, ...values] }
    return (await attemptPostgres(() => pool.query<ListedRow>(statement), true)).rows.map(toListed)
  }
  const destroyByHash = async (idHash: string): Promise<boolean> => {
    const statement = { name: 'destroy', text: DESTROY, values: [model, idHash] }
    return (await attemptPostgres(() => pool.query(statement), true)).rowCount === 1
  }
  const revokeByGrantHash = async (grant: string): Promise<boolean> => {
    const isRevoked = (await endGrant(grant, pool, context)) > 0
    if (isRevoked) ended.add(grant)
    return isRevoked
  }
  return {
    upsert: async (id, payload, expiresInSeconds) =>
      void (await attemptPostgres(
        () => pool.query(upsertStatement({ model, id, payload, expiresInSeconds })),
        true,
      )),
    upsertBounded: async (id, payload, expiresInSeconds, { source, bound }) => {
      const hashes = { address: hashId(source.address), network: hashId(source.network) }
      const write = upsertStatement({ model, id, payload, expiresInSeconds }, hashes)
      await attemptPostgres(() => pool.query(write), true)
      await evict(model, hashes.address, bound)
    },
    find: async (id, { expired } = { expired: false }) =>
      read(await find(expired ? 'findExpired' : 'find', id), id),
    findByHash: async (idHash) => read(await findHashed('find', idHash), undefined),
    findByUid: async (uid) => read(await find('findByUid', uid), undefined),
    findByUserCode: async (code) => read(await find('findByUserCode', code), undefined),
    consume: async (id) => {
      const statement = { name: 'consume', text: CONSUME, values: [model, hashId(id)] }
      return (await attemptPostgres(() => pool.query(statement))).rowCount === 1
    },
    claim: async (id, expiresInSeconds) => {
      const statement = { name: 'claim', text: CLAIM, values: [model, hashId(id), expiresInSeconds] }
      return (await attemptPostgres(() => pool.query(statement))).rowCount === 1
    },
    replace: async (id, payload, expiresInSeconds) => {
      const values = toArtifactColumns({ model, id, payload, expiresInSeconds }, 0)
      const statement = { name: 'replace', text: REPLACE, values: [...values] }
      return (await attemptPostgres(() => pool.query(statement), true)).rowCount === 1
    },
    destroy: (id) => destroyByHash(hashId(id)),
    destroyByHash,
    list: async (cursor = '') => {
      const listed = await list('list', cursor, LISTED_AT_ONCE)
      const last = listed.length < LISTED_AT_ONCE ? undefined : listed.at(-1)
      return { listed, ...(last === undefined ? {} : { next: last.idHash }) }
    },
    listByAccount: (accountId) => list('listByAccount', accountId),
    revokeByGrantId: async (grantId) => void (await revokeByGrantHash(hashId(grantId))),
    revokeByGrantHash,
  }
}

function toListed(row: ListedRow): ListedArtifact {
  return {
    idHash: row.id,
    payload: toArtifact(row, undefined),
    expiresAtSeconds: row.expires_at === null ? undefined : Math.ceil(Number(row.expires_at)),
  }
}

/** @returns the number of removed artifacts. */
async function endGrant(grant: string, pool: PostgresPool, context: RevocationContext): Promise<number> {
  const entry = grantRevocation(grant, context, await readPostgresClock(pool))
  const statement = { text: 'select scopegate.revoke_grant($1, $2) as removed', values: [grant, entry] }
  const { rows } = await attemptPostgres(() => pool.query<{ removed: string }>(statement), true)
  return Number(rows[0]?.removed)
}

/**
 * Finds grants that this process recorded as revoked and that still have artifacts. Revokes these grants again, and
 * publishes the revocations again. A restored backup, or a standby that had not received every write, may lack
 * acknowledged revocations.
 */
async function revokeAgain(
  ended: RevokedGrantCache,
  pool: PostgresPool,
  options: PostgresStoreOptions,
): Promise<void> {
  const text = 'select distinct grant_id from scopegate.artifacts where grant_id = any($1)'
  const { rows } = await attemptPostgres(() =>
    pool.query<{ grant_id: string }>({ text, values: [ended.all()] }),
  )
  for (const row of rows) await endGrant(row.grant_id, pool, options)
  if (rows.length > 0)
    options.logger?.warn(
      { event: 'revocations_renewed', grants: rows.length },
      'PostgreSQL lost acknowledged revocations; the server wrote these revocations again',
    )
}

async function sweep(pool: PostgresPool, context: RevocationContext): Promise<number> {
  const values = [keepSeconds(context), MARGIN_SECONDS, MAX_REVOCATIONS]
  await attemptPostgres(() => pool.query({ text: TRIM_REVOCATIONS, values }), true)
  let total = 0
  for (;;) {
    const { rowCount } = await attemptPostgres(() => pool.query({ text: SWEEP, values: [SWEEP_BATCH] }), true)
    total += rowCount ?? 0
    if ((rowCount ?? 0) < SWEEP_BATCH) return total
  }
}

/** @param source hashes of the source, for an artifact of a bounded model. */
function upsertStatement(write: ArtifactWrite, source?: ArtifactSource): QueryConfig {
  const values = [...toArtifactColumns(write, 0), source?.network ?? null, source?.address ?? null]
  return { name: 'upsert', text: UPSERT, values }
}

function exchangeStatement(
  used: { readonly model: string; readonly id: string },
  writes: readonly ArtifactWrite[],
): QueryConfig {
  const rows = writes.map((write) => toArtifactColumns(write, 0))
  const columns = Array.from({ length: WRITTEN_COLUMNS }, (_, index) => rows.map((row) => row[index]))
  return { name: 'exchange', text: EXCHANGE, values: [used.model, hashId(used.id), ...columns] }
}

const WRITTEN_COLUMNS = 9

const LIVE = '(expires_at is null or expires_at > now())'
const NOW_SECONDS = 'floor(extract(epoch from now()))::bigint'

// A consumed artifact stays consumed, so that a second write cannot make a code or refresh token usable again. A second
// write keeps the source and the age of a bounded artifact.
const ON_CONFLICT = `on conflict (model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
  uid = excluded.uid, user_code = excluded.user_code, account_id = excluded.account_id,
  expires_at = excluded.expires_at, consumed_at = coalesce(artifacts.consumed_at, excluded.consumed_at)`

const UPSERT = `insert into scopegate.artifacts
    (model, id, payload, grant_id, uid, user_code, account_id, consumed_at, expires_at, network, address)
  values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9), $10, $11)
  ${ON_CONFLICT} returning extract(epoch from clock_timestamp()) as now`

const REPLACE = `update scopegate.artifacts set payload = $3, grant_id = $4, uid = $5, user_code = $6, account_id = $7,
    consumed_at = coalesce(consumed_at, $8), expires_at = now() + make_interval(secs => $9)
  where model = $1 and id = $2 and ${LIVE}`

const CONSUME = `update scopegate.artifacts set consumed_at = ${NOW_SECONDS}
  where model = $1 and id = $2 and consumed_at is null and ${LIVE}`

/** The row lock of the consumed artifact lets only one caller write. The statement is atomic. */
const EXCHANGE = `with used as (${CONSUME} returning 1),
  written as (
    insert into scopegate.artifacts
      (model, id, payload, grant_id, uid, user_code, account_id, consumed_at, expires_at)
    select model, id, payload, grant_id, uid, user_code, account_id, consumed_at, now() + make_interval(secs => seconds)
    from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
      $11::double precision[])
      as new (model, id, payload, grant_id, uid, user_code, account_id, consumed_at, seconds)
    where exists (select from used)
    ${ON_CONFLICT}
  )
  select exists (select from used) as first`

const CLAIM = `insert into scopegate.artifacts (model, id, payload, expires_at)
  values ($1, $2, '{}', now() + make_interval(secs => $3))
  on conflict (model, id) do update set expires_at = excluded.expires_at where artifacts.expires_at <= now()`

const EVICT = 'select scopegate.evict($1, $2, $3, $4)'

const SELECT = 'select payload, consumed_at from scopegate.artifacts where model = $1'

const FIND = {
  find: `${SELECT} and id = $2 and ${LIVE}`,
  findExpired: `${SELECT} and id = $2`,
  findByUid: `${SELECT} and uid = $2 and ${LIVE} order by number desc limit 1`,
  findByUserCode: `${SELECT} and user_code = $2 and ${LIVE} order by number desc limit 1`,
} as const

const SELECT_LISTED = `select id, payload, consumed_at, extract(epoch from expires_at) as expires_at
  from scopegate.artifacts where model = $1`

const LIST = {
  list: `${SELECT_LISTED} and id collate "C" > $2 and ${LIVE} order by id collate "C" limit $3`,
  listByAccount: `${SELECT_LISTED} and account_id = $2 and ${LIVE}`,
} as const

const DESTROY = 'delete from scopegate.artifacts where model = $1 and id = $2'

// Skips locked rows, which another server sweeps or a request writes.
const SWEEP = `delete from scopegate.artifacts where (model, id) in (
  select model, id from scopegate.artifacts where expires_at <= now() order by expires_at limit $1
  for update skip locked)`

/**
 * Deletes an entry that is older than `$1` seconds if its `exp` was more than `$2` seconds ago. `exp` counts because the
 * lifetime of tokens may have been longer when the entry was written. Of the other entries, the newest `$3` stay. The
 * newest entry always stays, so that readers at its position can resume.
 */
const TRIM_REVOCATIONS = `delete from scopegate.revocations entry using scopegate.revocation_log log
  where (revoked_at < now() - make_interval(secs => $1)
      and coalesce(substring(payload from '"exp":([0-9]{1,15})')::bigint, 0) < extract(epoch from now()) - $2
      or entry.position <= log.position - $3)
    and entry.position < log.position`

function read(row: ArtifactRow | undefined, id: string | undefined): StoredArtifact | undefined {
  return row === undefined ? undefined : toArtifact(row, id)
}

function toArtifact(row: ArtifactRow, id: string | undefined): StoredArtifact {
  const consumedAtSeconds = row.consumed_at === null ? undefined : Number(row.consumed_at)
  return fromArtifactRecord({ payload: row.payload, consumedAtSeconds }, id)
}
