import type { DatabaseSync } from 'node:sqlite'
import type { SingletonFamily } from '../families/family.ts'
import type { Document } from '../families/json-schema.ts'
import type { Stamp } from './collection.ts'

export type SingletonRow = {
  readonly body: Document
  readonly updated_by: string
  readonly updated_at: string
}

/** Each owner has one resource of a singleton family. */
export type Singleton = {
  find(owner: string): SingletonRow | undefined
  write(owner: string, body: Document, stamp: Stamp): SingletonRow
}

/** Opens a singleton family. The owner of a resource of the whole school is the empty string. */
export function openSingleton(database: DatabaseSync, family: SingletonFamily): Singleton {
  const find = database.prepare(
    'SELECT body, updated_by, updated_at FROM singletons WHERE name = ? AND owner = ?',
  )
  const write = database.prepare(
    `INSERT INTO singletons (name, owner, body, updated_by, updated_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET body = excluded.body, updated_by = excluded.updated_by, updated_at = excluded.updated_at`,
  )
  return {
    find: (owner) => {
      const row = find.get(family.name, owner)
      return row === undefined
        ? undefined
        : {
            body: JSON.parse(String(row['body'])),
            updated_by: String(row['updated_by']),
            updated_at: String(row['updated_at']),
          }
    },
    write: (owner, body, { by, at }) => {
      write.run(family.name, owner, JSON.stringify(body), by, at)
      return { body, updated_by: by, updated_at: at }
    },
  }
}
