import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { CollectionFamily } from '../families/family.ts'
import type { Document } from '../families/json-schema.ts'

export type Row = {
  readonly number: number
  readonly id: string
  readonly body: Document
  readonly created_by: string
  readonly created_at: string
  readonly updated_by: string
  readonly updated_at: string
}

/** Author and time (RFC 3339) of a write. */
export type Stamp = { readonly by: string; readonly at: string }

/** Identified callers get the full view, and anonymous callers get the public view. */
export type View = 'full' | 'public'

export type Collection = {
  list(options: {
    readonly view: View
    readonly after: number
    readonly limit: number
    readonly filters: Readonly<Record<string, string>>
  }): readonly Row[]
  find(id: string, view: View): Row | undefined
  /** Returns the id of another row with this value in a unique field. */
  holderOf(field: string, value: string, exceptId: string): string | undefined
  insert(body: Document, stamp: Stamp): Row
  replace(row: Row, body: Document, stamp: Stamp): Row
  remove(id: string): void
}

const COLUMNS = 'number, id, body, created_by, created_at, updated_by, updated_at'

/**
 * Opens the table of a family. SQL text contains only constants of the family's file. The values are always bound
 * parameters.
 */
export function openCollection(database: DatabaseSync, family: CollectionFamily): Collection {
  const table = family.name
  const visible = { full: 'TRUE', public: family.publicView?.where ?? 'FALSE' }
  const lists = new Map<string, StatementSync>()
  const find = {
    full: database.prepare(`SELECT ${COLUMNS} FROM ${table} WHERE id = ?`),
    public: database.prepare(`SELECT ${COLUMNS} FROM ${table} WHERE id = ? AND (${visible.public})`),
  }
  const holders = new Map(
    (family.unique ?? []).map((field) => [
      field,
      database.prepare(`SELECT id FROM ${table} WHERE body ->> '$.${field}' = ? AND id <> ?`),
    ]),
  )
  const insert = database.prepare(
    `INSERT INTO ${table} (body, created_by, created_at, updated_by, updated_at)
     VALUES (?, ?, ?, ?, ?) RETURNING ${COLUMNS}`,
  )
  const replace = database.prepare(
    `UPDATE ${table} SET body = ?, updated_by = ?, updated_at = ? WHERE id = ? RETURNING ${COLUMNS}`,
  )
  const remove = database.prepare(`DELETE FROM ${table} WHERE id = ?`)

  /** Returns the statement for a set of filters. The cache is small, because families declare few filters. */
  function listStatement(view: View, filters: readonly string[]): StatementSync {
    const key = [view, ...filters].join(' ')
    const known = lists.get(key)
    if (known !== undefined) return known
    const conditions = filters.map((field) => ` AND ${table}.body ->> '$.${field}' = ?`).join('')
    const statement = database.prepare(
      `SELECT ${COLUMNS} FROM ${table} WHERE number > ? AND (${visible[view]})${conditions} ORDER BY number LIMIT ?`,
    )
    lists.set(key, statement)
    return statement
  }

  return {
    list: ({ view, after, limit, filters }) => {
      const used = (family.filters ?? []).filter((field) => filters[field] !== undefined)
      const values = used.map((field) => filters[field] ?? '')
      return listStatement(view, used)
        .all(after, ...values, limit)
        .map(readRow)
    },
    find: (id, view) => readOptional(find[view].get(id)),
    holderOf: (field, value, exceptId) => {
      const row = holders.get(field)?.get(value, exceptId)
      return row === undefined ? undefined : String(row['id'])
    },
    insert: (body, { by, at }) => readReturned(insert.get(JSON.stringify(body), by, at, by, at)),
    replace: (row, body, { by, at }) => readReturned(replace.get(JSON.stringify(body), by, at, row.id)),
    remove: (id) => {
      remove.run(id)
    },
  }
}

function readOptional(row: Record<string, SQLOutputValue> | undefined): Row | undefined {
  return row === undefined ? undefined : readRow(row)
}

function readReturned(row: Record<string, SQLOutputValue> | undefined): Row {
  if (row === undefined) throw new Error('the statement returned no row')
  return readRow(row)
}

function readRow(row: Record<string, SQLOutputValue>): Row {
  return {
    number: Number(row['number']),
    id: String(row['id']),
    body: JSON.parse(String(row['body'])),
    created_by: String(row['created_by']),
    created_at: String(row['created_at']),
    updated_by: String(row['updated_by']),
    updated_at: String(row['updated_at']),
  }
}
