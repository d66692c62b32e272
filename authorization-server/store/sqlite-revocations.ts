import { hash } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { readRevocation } from '../../oauth/revocation.ts'
import { keepSeconds, MARGIN_SECONDS, type RevocationContext } from './revocation-records.ts'
import { attemptSqlite } from './sqlite.ts'
import type { LoggedRevocation, RevocationListener, RevocationLog } from './store.ts'

export type SqliteRevocations = RevocationLog & {
  /** Adds a revocation. Call this method inside the transaction of the revocation. */
  append(text: string, nowSeconds: number): void
  /** Notifies the followers. Call this method after the commit. */
  notify(): void
  /**
   * Deletes entries that apply to no valid token, and the oldest entries above the maximum number. The newest entry
   * stays.
   */
  trim(nowSeconds: number): void
  close(): void
}

/** Polling interval for entries that other processes write to the file. Milliseconds. */
const POLL_INTERVAL_MS = 100
/** After this number of consecutive failures, the log calls `lost()` of the listeners. */
const MAX_FAILURES = 20
const MAX_BATCH = 1_000
/**
 * Maximum number of stored entries. Above this number, the log deletes the oldest entries. A reader that missed a
 * deleted entry starts again.
 */
const MAX_REVOCATIONS = 100_000

/**
 * Creates the revocation log in SQLite.
 * An id consists of the epoch of the file, a sequence number, and a hash of the entry. The log therefore rejects an id
 * of another file, and an id of an entry that a restored backup lacks.
 */
export function sqliteRevocations(database: DatabaseSync, context: RevocationContext): SqliteRevocations {
  const insert = database.prepare('insert into revocations (revoked_at, payload) values (?, ?)')
  const newest = database.prepare("select seq from sqlite_sequence where name = 'revocations'")
  const oldest = database.prepare('select min(id) as id from revocations')
  const one = database.prepare('select payload from revocations where id = ?')
  const after = database.prepare('select id, payload from revocations where id > ? order by id limit ?')
  // Deletes old entries. An entry stays until its `exp`, because the lifetime of tokens may have been longer when the
  // entry was written. The newest entry always stays, so that readers at its position can resume.
  const old = database.prepare(
    `delete from revocations
      where (revoked_at < ? and coalesce(iif(json_valid(payload), payload ->> '$.exp', 0), 0) < ? or id <= ?)
        and id < (select max(id) from revocations)`,
  )
  const dataVersion = database.prepare('pragma data_version')
  const epoch = String(database.prepare('select epoch from revocation_epoch').get()?.['epoch'])
  const followers = new Set<{ readonly listener: RevocationListener; at: number }>()
  let timer: NodeJS.Timeout | undefined
  let seenVersion: SQLOutputValue | undefined
  let failures = 0

  const newestId = (): number => Number(newest.get()?.['seq'] ?? 0)
  const read = (id: number, limit: number): LoggedRevocation[] =>
    after.all(id, limit).flatMap((row) => {
      const revocation = readRevocation(String(row['payload']))
      return revocation === undefined
        ? []
        : [{ id: toId(Number(row['id']), String(row['payload'])), revocation }]
    })
  const toId = (number: number, payload: string): string =>
    `${epoch}.${number}.${hash('sha256', payload, 'hex').slice(0, 16)}`
  const idOf = (number: number): string => toId(number, String(one.get(number)?.['payload'] ?? ''))

  function notifyAll(): void {
    const last = newestId()
    for (const follower of followers) {
      if (follower.at === last) continue
      const sent = last - follower.at > MAX_BATCH ? [] : read(follower.at, MAX_BATCH)
      if (sent.length > 0) follower.listener.revoked(sent)
      // If an older file replaced this file, `last` is smaller than `follower.at`. The listener then has a gap too.
      if (sent.length !== last - follower.at) follower.listener.gap()
      follower.at = last
    }
  }

  function poll(): void {
    try {
      const version = dataVersion.get()?.['data_version']
      if (version !== seenVersion) notifyAll()
      seenVersion = version
      if (failures >= MAX_FAILURES) for (const { listener } of followers) listener.restored?.()
      failures = 0
    } catch {
      // The poll does not report the failure, because requests report a locked or damaged file. The next poll reads the
      // skipped entries.
      failures += 1
      if (failures === MAX_FAILURES) for (const { listener } of followers) listener.lost()
    }
  }

  return {
    lastId: async () => attemptSqlite(() => idOf(newestId())),
    readAfter: async (id, limit) =>
      attemptSqlite(() => {
        const last = newestId()
        const first = Number(oldest.get()?.['id'] ?? last + 1)
        const at = id === undefined ? first - 1 : Number(/^[0-9a-f]+\.(\d{1,15})\./.exec(id)?.[1])
        if (Number.isNaN(at) || (id !== undefined && id !== idOf(at))) return undefined
        if (at < first - 1 || last - at > limit) return undefined
        const unread = read(at, limit)
        return unread.length < last - at ? undefined : unread
      }),
    follow: async (listener) => {
      const follower = { listener, at: newestId() }
      followers.add(follower)
      timer ??= setInterval(poll, POLL_INTERVAL_MS).unref()
      return () => {
        followers.delete(follower)
        if (followers.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
    append: (text, nowSeconds) => void insert.run(nowSeconds, text),
    notify() {
      seenVersion = undefined // `data_version` does not count writes of this process
      poll()
    },
    trim: (nowSeconds) =>
      void old.run(
        nowSeconds - keepSeconds(context),
        nowSeconds - MARGIN_SECONDS,
        newestId() - MAX_REVOCATIONS,
      ),
    close: () => clearInterval(timer),
  }
}
