import { type AccountRecord, claimsOf, fromAccountRecord, toAccountRecord } from './account-record.ts'
import { attemptPostgres, readPostgresClock } from './postgres.ts'
import type { PostgresPool } from './postgres-connection.ts'
import { accountRevocation, disabledRevocation, type RevocationContext } from './revocation-records.ts'
import type { AccountStore, StoredAccount } from './store.ts'

const SELECT = 'select * from scopegate.accounts'

export function postgresAccounts(pool: PostgresPool, context: RevocationContext): AccountStore {
  const find = async (
    text: string,
    ...values: readonly (string | number)[]
  ): Promise<readonly StoredAccount[]> => {
    // no stored value contains NUL, and PostgreSQL rejects NUL
    if (values.some((value) => String(value).includes('\0'))) return []
    const query = { text, values: [...values] }
    const { rows } = await attemptPostgres(() => pool.query<AccountRecord>(query), true)
    return rows.map(fromAccountRecord)
  }
  const run = async (text: string, values: readonly (string | number | null)[]): Promise<void> =>
    void (await attemptPostgres(() => pool.query({ text, values: [...values] }), true))
  return {
    findById: async (id) => (await find(`${SELECT} where id = $1`, id))[0],
    findByUsername: async (username) => (await find(`${SELECT} where username = $1`, username))[0],
    findByIdentity: async (issuer, subject) =>
      (await find(`${SELECT} where identity_issuer = $1 and identity_subject = $2`, issuer, subject))[0],
    insert: async (account) => {
      const columns = Object.entries(toAccountRecord(account))
      const names = columns.map(([name]) => name).join(', ')
      const places = columns.map((_column, index) => `$${index + 1}`).join(', ')
      const { rowCount } = await attemptPostgres(() =>
        pool.query({
          text: `insert into scopegate.accounts (${names}) values (${places}) on conflict do nothing`,
          values: columns.map(([, value]) => value),
        }),
      )
      return rowCount === 1
    },
    setPasswordHash: (id, passwordHash, replaced) =>
      run(
        `update scopegate.accounts set password_hash = $1
          where id = $2 and password_hash is not distinct from coalesce($3, password_hash)`,
        [passwordHash, id, replaced ?? null],
      ),
    update: (account) =>
      run('update scopegate.accounts set name = $1, email = $2, claims = $3 where id = $4', [
        account.name,
        account.email ?? null,
        claimsOf(account),
        account.id,
      ]),
    setSecondFactor: async (id, expected, next) => {
      const { rowCount } = await attemptPostgres(() =>
        pool.query({
          text: `update scopegate.accounts set second_factor = $1
            where id = $2 and second_factor is not distinct from $3`,
          values: [next ?? null, id, expected ?? null],
        }),
      )
      return rowCount === 1
    },
    list: ({ after = '', limit }) =>
      find(`${SELECT} where id collate "C" > $1 order by id collate "C" limit $2`, after, limit),
    listByOrigin: (origin) => find(`${SELECT} where origin = $1 order by username collate "C"`, origin),
    setDisabled: async (id, atSeconds) => {
      if (atSeconds === undefined)
        return run('update scopegate.accounts set disabled_at = null where id = $1', [id])
      const entry = disabledRevocation(id, context, await readPostgresClock(pool))
      await run('select scopegate.disable_account($1, $2, $3)', [id, atSeconds, entry])
    },
    remove: async (id) => {
      const entry = accountRevocation(id, context, await readPostgresClock(pool))
      await run('select scopegate.remove_account($1, $2)', [id, entry])
    },
  }
}
