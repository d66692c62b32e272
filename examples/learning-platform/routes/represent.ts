import type { Caller, CollectionFamily, SingletonFamily } from '../families/family.ts'
import type { Document } from '../families/json-schema.ts'
import type { Row, View } from '../store/collection.ts'
import type { SingletonRow } from '../store/singleton.ts'

export function represent(family: CollectionFamily, row: Row, view: View): Document {
  const content = { ...row.body, ...family.derived?.from(row.body) }
  if (view === 'full') {
    const { created_by, created_at, updated_by, updated_at } = row
    return { id: row.id, ...content, created_by, created_at, updated_by, updated_at }
  }
  const { fields = [], trim } = family.publicView ?? {}
  return { id: row.id, ...pick(trim === undefined ? content : trim(content), fields) }
}

export function representSingleton(
  family: SingletonFamily,
  row: SingletonRow,
  caller: Caller | undefined,
): Document {
  if (caller === undefined)
    return { ...family.publicView.constant, ...pick(row.body, family.publicView.fields) }
  const { updated_by, updated_at } = row
  return { ...family.caller?.from(caller), ...row.body, updated_by, updated_at }
}

function pick(document: Document, names: readonly string[]): Document {
  return Object.fromEntries(names.map((name) => [name, document[name]]))
}
