import { hashId } from './artifact-record.ts'
import { attemptSqlite, transact } from './sqlite.ts'
import type { SqliteParts } from './sqlite-accounts.ts'
import { type AttemptCounters, MAX_ATTEMPT_COUNTERS } from './store.ts'

export function sqliteAttempts({
  database,
  nowSeconds,
}: Pick<SqliteParts, 'database' | 'nowSeconds'>): AttemptCounters & { sweep(nowSeconds: number): void } {
  const find = database.prepare(
    'select ends_at from attempt_counters where id = ? and ends_at > ? and attempts >= ?',
  )
  const reject = database.prepare(
    'update attempt_counters set is_rejected = 1 where id = ? and is_rejected = 0',
  )
  const end = database.prepare('delete from attempt_counters where id = ? and ends_at <= ?')
  const count = database.prepare(
    `insert into attempt_counters (id, ends_at) values (?, ?)
      on conflict (id) do update set attempts = attempts + 1`,
  )
  const evict = database.prepare(
    'delete from attempt_counters where number <= (select max(number) from attempt_counters) - ?',
  )
  const remove = database.prepare('delete from attempt_counters where id = ?')
  const reduce = database.prepare(
    'update attempt_counters set attempts = attempts - 1 where id = ? and attempts > 0',
  )
  const removeEnded = database.prepare('delete from attempt_counters where ends_at <= ?')

  const findFull: AttemptCounters['check'] = async (counters) =>
    attemptSqlite(() => {
      const now = nowSeconds()
      for (const { id, limit } of counters) {
        const endsAt = find.get(hashId(id), now, limit)?.['ends_at']
        if (typeof endsAt !== 'number') continue
        return { id, endsInSeconds: endsAt - now, isFirst: reject.run(hashId(id)).changes === 1 }
      }
      return undefined
    })
  return {
    check: findFull,
    add: async (counters, windowSeconds) => {
      const now = nowSeconds()
      let isFull = false
      transact(database, () => {
        isFull = counters.some(({ id, limit }) => find.get(hashId(id), now, limit) !== undefined)
        if (isFull) return
        for (const { id } of counters) {
          end.run(hashId(id), now)
          count.run(hashId(id), now + windowSeconds)
        }
        evict.run(MAX_ATTEMPT_COUNTERS)
      })
      return isFull ? findFull(counters) : undefined
    },
    release: async ({ removed, reduced }) =>
      void attemptSqlite(() => {
        remove.run(hashId(removed))
        reduce.run(hashId(reduced))
      }),
    sweep: (now) => void removeEnded.run(now),
  }
}
