import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { claimsOf, fromAccountRecord, toAccountRecord } from './account-record.ts'
import { accountRevocation, disabledRevocation, type RevocationContext } from './revocation-records.ts'
import { attemptSqlite, transact } from './sqlite.ts'
import type { SqliteRevocations } from './sqlite-revocations.ts'
import type { AccountStore, StoredAccount } from './store.ts'
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
  const byIdentity = database.prepare(
    'select * from accounts where identity_issuer = ? and identity_subject = ?',
  )
  const byOrigin = database.prepare('select * from accounts where origin = ? order by username')
  const page = database.prepare('select * from accounts where id > ? order by id limit ?')
  const insert = database.prepare(
    `insert into accounts (id, username, name, email, password_hash, origin, created_at,
        identity_issuer, identity_subject, disabled_at, claims, second_factor)
      values ($id, $username, $name, $email, $password_hash, $origin, $created_at,
        $identity_issuer, $identity_subject, $disabled_at, $claims, $second_factor) on conflict do nothing`,
  )
  const setPasswordHash = database.prepare(
    'update accounts set password_hash = $hash where id = $id and password_hash is ifnull($replaced, password_hash)',
  )
  const update = database.prepare('update accounts set name = ?, email = ?, claims = ? where id = ?')
  const setDisabled = database.prepare('update accounts set disabled_at = ? where id = ?')
  const setSecondFactor = database.prepare(
    'update accounts set second_factor = ? where id = ? and second_factor is ?',
  )
  const removeArtifacts = database.prepare('delete from artifacts where account_id = ?')
  const remove = database.prepare('delete from accounts where id = ?')
  return {
    findById: async (id) => attemptSqlite(() => optional(byId.get(id))),
    findByUsername: async (username) => attemptSqlite(() => optional(byUsername.get(username))),
    findByIdentity: async (issuer, subject) => attemptSqlite(() => optional(byIdentity.get(issuer, subject))),
    insert: async (account) => attemptSqlite(() => insert.run(toAccountRecord(account)).changes === 1),
    setPasswordHash: async (id, hash, replaced) =>
      void attemptSqlite(() => setPasswordHash.run({ id, hash, replaced: replaced ?? null })),
    update: async (account) =>
      void attemptSqlite(() =>
        update.run(account.name, account.email ?? null, claimsOf(account), account.id),
      ),
    setSecondFactor: async (id, expected, next) =>
      attemptSqlite(() => setSecondFactor.run(next ?? null, id, expected ?? null).changes === 1),
    list: async ({ after = '', limit }) => attemptSqlite(() => page.all(after, limit).map(fromAccountRecord)),
    listByOrigin: async (origin) => attemptSqlite(() => byOrigin.all(origin).map(fromAccountRecord)),
    setDisabled: async (id, atSeconds) => {
      if (atSeconds === undefined) return void attemptSqlite(() => setDisabled.run(null, id))
      const now = nowSeconds()
      transact(database, () => {
        if (setDisabled.run(atSeconds, id).changes === 0) return
        removeArtifacts.run(id)
        revocations.append(disabledRevocation(id, parts.context, now), now)
      })
      revocations.notify()
    },
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
  return row === undefined ? undefined : fromAccountRecord(row)
}
