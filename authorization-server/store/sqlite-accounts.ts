import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { accountRevocation, type RevocationContext } from './revocation-records.ts'
import { attemptSqlite, transact } from './sqlite.ts'
import type { SqliteRevocations } from './sqlite-revocations.ts'
import type { AccountStore, StoredAccount } from './store.ts'
/** Parts that the modules of the store share. */
export type SqliteParts = {
  readonly database: DatabaseSync
  readonly context: RevocationContext
  readonly revocations: SqliteRevocations
  readonly nowSeconds: () => number
}

export function sqliteAccounts(parts: SqliteParts): AccountStore {
  const { database, revocations, nowSeconds } = parts
  const byId = database.prepare('select * from accounts where id = ?')
  const byUsername = database.prepare('select * from accounts where username = ?')
  const byOrigin = database.prepare('select * from accounts where origin = ? order by username')
  const insert = database.prepare(
    `insert into accounts (id, username, name, email, password_hash, origin, created_at)
      values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
  )
  const setPasswordHash = database.prepare('update accounts set password_hash = ? where id = ?')
  const removeArtifacts = database.prepare('delete from artifacts where account_id = ?')
  const remove = database.prepare('delete from accounts where id = ?')
  return {
    findById: async (id) => attemptSqlite(() => optional(byId.get(id))),
    findByUsername: async (username) => attemptSqlite(() => optional(byUsername.get(username))),
    insert: async (account) =>
      attemptSqlite(() => {
        const { id, username, name, email, passwordHash, origin, createdAtSeconds } = account
        return (
          insert.run(id, username, name, email ?? null, passwordHash, origin, createdAtSeconds).changes === 1
        )
      }),
    setPasswordHash: async (id, passwordHash) =>
      void attemptSqlite(() => setPasswordHash.run(passwordHash, id)),
    listByOrigin: async (origin) => attemptSqlite(() => byOrigin.all(origin).map(toAccount)),
    remove: async (id) => {
      const now = nowSeconds()
      transact(database, () => {
        removeArtifacts.run(id)
        if (remove.run(id).changes > 0) revocations.append(accountRevocation(id, parts.context, now), now)
      })
      revocations.notify()
    },
  }
}

function optional(row: Record<string, SQLOutputValue> | undefined): StoredAccount | undefined {
  return row === undefined ? undefined : toAccount(row)
}

function toAccount(row: Record<string, SQLOutputValue>): StoredAccount {
  const email = row['email']
  return {
    id: String(row['id']),
    username: String(row['username']),
    name: String(row['name']),
    email: typeof email === 'string' ? email : undefined,
    passwordHash: String(row['password_hash']),
    origin: row['origin'] === 'development' ? 'development' : 'operator',
    createdAtSeconds: Number(row['created_at']),
  }
}
