import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client, QueryConfig, QueryResult } from 'pg'
import { type Revocation, readRevocation } from '../../oauth/revocation.ts'
import { attemptPostgres } from './postgres.ts'
import type { PostgresPool } from './postgres-connection.ts'
import type { LoggedRevocation, RevocationListener, RevocationLog } from './store.ts'

export type PostgresRevocations = RevocationLog & { close(): Promise<void> }

/** Polling interval. When a connection fails, its notifications are lost. Milliseconds. */
const POLL_INTERVAL_MS = 1_000
/** Maximum time of a statement on the connection of the follower. Milliseconds. */
const STATEMENT_MS = 1_000
const RETRY_MS = 500
const MAX_BATCH = 1_000

/** The last entry that a reader received. */
type Place = { readonly position: number; readonly id: string }

type LogPart = {
  readonly epoch: string
  readonly last: number
  /** Payload of the entry at the position of the reader. Empty at position 0 and for a deleted entry. */
  readonly payload: string
  /** Later entries, oldest first. */
  readonly entries: readonly { readonly position: number; readonly payload: string }[]
}

type Row = {
  readonly epoch: string
  readonly last: string
  readonly position: string | null
  readonly payload: string | null
}
type Query = (statement: QueryConfig) => Promise<QueryResult<Row>>

/**
 * Opens the revocation log in PostgreSQL.
 * A dedicated connection listens for notifications. The log reads the entries from the table after each notification,
 * and at least once a second. An id consists of the epoch of the database, the position, and a hash of the entry. The
 * log therefore rejects an id of another database, and an id of an entry that a restored backup lacks.
 */
export function openPostgresRevocations(options: {
  readonly pool: PostgresPool
  /**
   * Receives each revocation. `onGap` runs when the database may have lost some revocations. A failed `onGap` runs
   * again.
   */
  readonly onRevoked: (revocations: readonly Revocation[]) => void
  readonly onGap: () => Promise<void>
}): PostgresRevocations {
  const { pool } = options
  const query: Query = (statement) => attemptPostgres(() => pool.query<Row>(statement), true)
  const listeners = new Set<RevocationListener>()
  const closing = new AbortController()
  let starting: Promise<void> | undefined
  let running: Promise<void> | undefined
  let place: Place = { position: 0, id: '' }
  /** Ends the wait for a notification or for the next poll. */
  let wake = (): void => undefined

  /**
   * Sends the entries after `place` to the listeners, and reports a gap if entries are missing. After a failure,
   * `place` stays unchanged, so the next call reads the same entries.
   */
  async function catchUp(run: Query): Promise<void> {
    const part = await readPart(run, place.position, MAX_BATCH)
    const isContinued = place.id === toId(part.epoch, place.position, part.payload)
    const isComplete = isContinued && part.entries.length === part.last - place.position
    const next = isComplete ? placeOf(part) : await readPlace(run)
    const logged = isContinued ? toLogged(part) : []
    if (logged.length > 0) {
      options.onRevoked(logged.map(({ revocation }) => revocation))
      for (const listener of listeners) listener.revoked(logged)
    }
    // The second condition finds entries that cannot be parsed.
    if (!isComplete || logged.length < part.entries.length) for (const listener of listeners) listener.gap()
    if (!isContinued) await options.onGap()
    place = next ?? place
  }

  /**
   * Follows the log on one connection until the connection fails, the server is not the primary any more, or the log
   * closes.
   */
  async function followOn(client: Client, onAlive: () => void): Promise<never> {
    let isNotified = false
    client.on('notification', () => {
      isNotified = true
      wake()
    })
    client.once('error', () => wake())
    client.once('end', () => wake())
    await client.query('listen "scopegate.revocations"')
    // After a failover, the old primary can accept reads and receive no new entries.
    const { rows } = await client.query<{ readonly is_read_only: string }>(
      "select current_setting('transaction_read_only') as is_read_only",
    )
    if (rows[0]?.is_read_only !== 'off') throw new Error('The server is read-only, so it is not the primary.')
    for (;;) {
      closing.signal.throwIfAborted()
      isNotified = false
      await catchUp((statement) => client.query<Row>(statement))
      if (!pool.isCurrent(client))
        throw new Error('Another connection found that this server is not the primary.')
      onAlive()
      if (isNotified) continue
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_INTERVAL_MS).unref()
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  async function run(): Promise<void> {
    let failures = 0
    while (!closing.signal.aborted) {
      let client: Client | undefined
      try {
        client = await pool.connect({ statementMs: STATEMENT_MS })
        await followOn(client, () => {
          if (failures > 0) for (const listener of listeners) listener.restored?.()
          failures = 0
        })
      } catch {
        // The loop does not report the failure, because requests report the failure. A new connection reads the missed
        // entries.
        failures += 1
      }
      await client?.end().catch(() => undefined)
      if (failures < 2) continue // the first failure may affect only this connection
      if (!closing.signal.aborted) for (const listener of listeners) listener.lost()
      await pause(RETRY_MS, undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  async function start(): Promise<void> {
    place = await readPlace(query)
    running = run()
  }

  return {
    lastId: async () => (await readPlace(query)).id,
    readAfter: async (id, limit) => {
      if (id === undefined) return readAll(query, limit)
      const position = Number(/^[0-9a-f]{32}\.(\d{1,15})\.[0-9a-f]{16}$/.exec(id)?.[1])
      if (Number.isNaN(position)) return undefined
      const part = await readPart(query, position, limit)
      const missed = toLogged(part)
      const isComplete = missed.length === part.last - position
      return id === toId(part.epoch, position, part.payload) && isComplete ? missed : undefined
    },
    async follow(listener) {
      listeners.add(listener)
      starting ??= start()
      await starting
      return () => void listeners.delete(listener)
    },
    close: async () => {
      closing.abort()
      wake()
      await starting?.catch(() => undefined)
      await running
    },
  }
}

/** Reads the entry at a position, and at most `limit` later entries. */
async function readPart(query: Query, position: number, limit: number): Promise<LogPart> {
  const { rows } = await query({
    name: 'read revocations',
    text: `select epoch, log.position as last, entry.position, payload
      from scopegate.revocation_log log left join lateral (
        select position, payload from scopegate.revocations where position >= $1 order by position limit $2
      ) entry on true order by entry.position`,
    values: [position, limit + 1],
  })
  const entries = rows.flatMap((row) =>
    row.position === null ? [] : [{ position: Number(row.position), payload: row.payload ?? '' }],
  )
  return {
    epoch: rows[0]?.epoch ?? '',
    last: Number(rows[0]?.last ?? 0),
    payload: entries.find((entry) => entry.position === position)?.payload ?? '',
    entries: entries.filter((entry) => entry.position > position).slice(0, limit),
  }
}

/** Returns all entries. Undefined: there are more than `limit` entries, or an entry cannot be parsed. */
async function readAll(query: Query, limit: number): Promise<readonly LoggedRevocation[] | undefined> {
  const part = await readPart(query, 0, limit)
  const newest = part.entries.at(-1)
  const logged = toLogged(part)
  const isComplete = newest === undefined || newest.position === part.last
  return isComplete && logged.length === part.entries.length ? logged : undefined
}

async function readPlace(query: Query): Promise<Place> {
  const { rows } = await query({
    text: `select epoch, log.position as last, log.position, payload
      from scopegate.revocation_log log left join scopegate.revocations entry on entry.position = log.position`,
  })
  const [row] = rows
  const position = Number(row?.last ?? 0)
  return { position, id: toId(row?.epoch ?? '', position, row?.payload ?? '') }
}

function toLogged({ epoch, entries }: LogPart): readonly LoggedRevocation[] {
  return entries.flatMap(({ position, payload }) => {
    const revocation = readRevocation(payload)
    return revocation === undefined ? [] : [{ id: toId(epoch, position, payload), revocation }]
  })
}

function placeOf({ epoch, entries }: LogPart): Place | undefined {
  const entry = entries.at(-1)
  return entry === undefined
    ? undefined
    : { position: entry.position, id: toId(epoch, entry.position, entry.payload) }
}

function toId(epoch: string, position: number, payload: string): string {
  return `${epoch}.${position}.${hash('sha256', payload, 'hex').slice(0, 16)}`
}
