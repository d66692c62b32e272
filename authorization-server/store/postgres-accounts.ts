import { attemptPostgres, readPostgresClock } from './postgres.ts'
import type { PostgresPool } from './postgres-connection.ts'
import { accountRevocation, type RevocationContext } from './revocation-records.ts'
import type { AccountStore, StoredAccount } from './store.ts'

type Row = {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly email: string | null
  readonly password_hash: string
  readonly origin: string
  readonly created_at: string
}

const SELECT = 'select * from scopegate.accounts'

export function postgresAccounts(pool: PostgresPool, context: RevocationContext): AccountStore {
  const find = async (text: string, value: string): Promise<readonly StoredAccount[]> => {
    if (value.includes('\0')) return [] // no username contains NUL, and PostgreSQL rejects NUL
    const { rows } = await attemptPostgres(() => pool.query<Row>({ text, values: [value] }), true)
    return rows.map(toAccount)
  }
  return {
    findById: async (id) => (await find(`${SELECT} where id = $1`, id))[0],
    findByUsername: async (username) => (await find(`${SELECT} where username = $1`, username))[0],
    insert: async (account) => {
      const { id, username, name, email, passwordHash, origin, createdAtSeconds } = account
      const { rowCount } = await attemptPostgres(() =>
        pool.query({
          text: `insert into scopegate.accounts (id, username, name, email, password_hash, origin, created_at)
            values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
          values: [id, username, name, email ?? null, passwordHash, origin, createdAtSeconds],
        }),
      )
      return rowCount === 1
    },
    setPasswordHash: async (id, passwordHash) =>
      void (await attemptPostgres(
        () =>
          pool.query({
            text: 'update scopegate.accounts set password_hash = $1 where id = $2',
            values: [passwordHash, id],
          }),
        true,
      )),
    listByOrigin: (origin) => find(`${SELECT} where origin = $1 order by username collate "C"`, origin),
    remove: async (id) => {
      const entry = accountRevocation(id, context, await readPostgresClock(pool))
      await attemptPostgres(
        () => pool.query({ text: 'select scopegate.remove_account($1, $2)', values: [id, entry] }),
        true,
      )
    },
  }
}

function toAccount(row: Row): StoredAccount {
  return {
    id: row.id,
    username: row.username,
    name: row.name,
    email: row.email ?? undefined,
    passwordHash: row.password_hash,
    origin: row.origin === 'development' ? 'development' : 'operator',
    createdAtSeconds: Number(row.created_at),
  }
}
