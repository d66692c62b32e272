import { hashId } from './artifact-record.ts'
import { attemptPostgres } from './postgres.ts'
import type { PostgresPool } from './postgres-connection.ts'
import { type AttemptCounters, MAX_ATTEMPT_COUNTERS } from './store.ts'

export function postgresAttempts(pool: PostgresPool): AttemptCounters & { sweep(): Promise<void> } {
  const check: AttemptCounters['check'] = async (counters) => {
    const values = [counters.map(({ id }) => hashId(id)), counters.map(({ limit }) => limit)]
    const { rows } = await attemptPostgres(
      () => pool.query<{ place: string; ends_in: string }>({ name: 'find-full', text: FIND_FULL, values }),
      true,
    )
    const [full] = rows
    const counter = counters[Number(full?.place) - 1]
    if (full === undefined || counter === undefined) return undefined
    const { rowCount } = await attemptPostgres(() =>
      pool.query({ text: REJECT, values: [hashId(counter.id)] }),
    )
    return { id: counter.id, endsInSeconds: Math.ceil(Number(full.ends_in)), isFirst: rowCount === 1 }
  }
  return {
    check,
    add: async (counters, windowSeconds) => {
      const ids = counters.map(({ id }) => hashId(id))
      const limits = counters.map(({ limit }) => limit)
      const values = [ids, limits, windowSeconds, MAX_ATTEMPT_COUNTERS]
      const { rows } = await attemptPostgres(() =>
        pool.query<{ counted: boolean }>({ name: 'count-attempt', text: COUNT, values }),
      )
      return rows[0]?.counted === true ? undefined : check(counters)
    },
    // Two transactions, so that no transaction waits for a row while it has the lock of another row.
    release: async ({ removed, reduced }) => {
      await attemptPostgres(() => pool.query({ text: REMOVE, values: [hashId(removed)] }), true)
      await attemptPostgres(() => pool.query({ text: REDUCE, values: [hashId(reduced)] }))
    },
    sweep: async () => void (await attemptPostgres(() => pool.query({ text: SWEEP, values: [] }), true)),
  }
}

const FIND_FULL = `select place, extract(epoch from ends_at - now()) as ends_in
  from scopegate.attempt_counters
  join unnest($1::text[], $2::bigint[]) with ordinality as given (id, maximum, place) using (id)
  where ends_at > now() and attempts >= maximum order by place limit 1`

const REJECT = 'update scopegate.attempt_counters set is_rejected = true where id = $1 and not is_rejected'

const COUNT = 'select scopegate.count_attempt($1, $2, $3, $4) as counted'

const REMOVE = 'delete from scopegate.attempt_counters where id = $1'

const REDUCE = 'update scopegate.attempt_counters set attempts = attempts - 1 where id = $1 and attempts > 0'

const SWEEP = `delete from scopegate.attempt_counters where number in (
  select number from scopegate.attempt_counters where ends_at <= now() for update skip locked)`
