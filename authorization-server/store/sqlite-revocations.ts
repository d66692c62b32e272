import { hash } from 'node:crypto'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { readRevocation } from '../../oauth/revocation.ts'
import { attemptSqlite } from './attempt-sqlite.ts'
import { keepSeconds, type RevocationContext } from './revocation-records.ts'
import type { LoggedRevocation, RevocationListener, RevocationLog } from './store.ts'

/** The log in the store's SQLite file. */
export type SqliteRevocations = RevocationLog & {
  /** Logs a revocation; called inside its transaction. */
  append(text: string, nowSeconds: number): void
  /** Tells those who follow; called when the transaction is on the disk. */
  tell(): void
  /** Deletes entries that are older than any token. */
  trim(nowSeconds: number): void
  close(): void
}

/** Other processes on the file are noticed within this. Milliseconds. */
const LOOK_EVERY_MS = 100
/** After so many failures in a row the listeners learn that revocations are lost. */
const MOST_FAILURES = 20
const MOST_AT_ONCE = 1_000
/** Above this number the oldest entries are deleted: a slow reader starts again. */
const MOST_REVOCATIONS = 100_000

/**
 * Opens the log of revocations in SQLite. An id consists of the file's epoch, a number that is used once, and a hash of the
 * entry. An id of another file, or of a time before a backup was restored, is therefore unknown.
 */
export function sqliteRevocations(database: DatabaseSync, context: RevocationContext): SqliteRevocations {
  const insert = database.prepare('insert into revocations (revoked_at, payload) values (?, ?)')
  const newest = database.prepare("select seq from sqlite_sequence where name = 'revocations'")
  const oldest = database.prepare('select min(id) as id from revocations')
  const one = database.prepare('select payload from revocations where id = ?')
  const after = database.prepare('select id, payload from revocations where id > ? order by id limit ?')
  // The last one stays: those who know it go on from there.
  const old = database.prepare(
    'delete from revocations where (revoked_at < ? or id <= ?) and id < (select max(id) from revocations)',
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

  function tellAll(): void {
    const last = newestId()
    for (const follower of followers) {
      if (follower.at === last) continue
      const told = last - follower.at > MOST_AT_ONCE ? [] : read(follower.at, MOST_AT_ONCE)
      if (told.length > 0) follower.listener.revoked(told)
      // Also when the file has become an older one.
      if (told.length !== last - follower.at) follower.listener.missed()
      follower.at = last
    }
  }

  function look(): void {
    try {
      const version = dataVersion.get()?.['data_version']
      if (version === seenVersion) return
      tellAll()
      seenVersion = version
      failures = 0
    } catch {
      // Locked or failing: requests say so. The next look finds what this one missed.
      failures += 1
      if (failures === MOST_FAILURES) for (const { listener } of followers) listener.lost()
    }
  }

  return {
    lastId: async () => attemptSqlite(() => idOf(newestId())),
    readAfter: async (id, limit) =>
      attemptSqlite(() => {
        const at = Number(/^[0-9a-f]+\.(\d{1,15})\./.exec(id)?.[1])
        if (Number.isNaN(at) || id !== idOf(at)) return undefined
        const last = newestId()
        const first = Number(oldest.get()?.['id'] ?? last + 1)
        if (at < first - 1 || last - at > limit) return undefined
        const missed = read(at, limit)
        return missed.length < last - at ? undefined : missed
      }),
    follow: async (listener) => {
      const follower = { listener, at: newestId() }
      followers.add(follower)
      timer ??= setInterval(look, LOOK_EVERY_MS).unref()
      return () => {
        followers.delete(follower)
        if (followers.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
    append: (text, nowSeconds) => void insert.run(nowSeconds, text),
    tell() {
      seenVersion = undefined // `data_version` does not count writes of this process
      look()
    },
    trim: (nowSeconds) => void old.run(nowSeconds - keepSeconds(context), newestId() - MOST_REVOCATIONS),
    close: () => clearInterval(timer),
  }
}
