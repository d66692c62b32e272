import { type CollectionFamily, familyPath } from '../../../examples/learning-platform/families/family.ts'
import type { Document } from '../../../examples/learning-platform/families/json-schema.ts'
import type { Platform } from './start-platform.ts'

const UNIQUE: Readonly<Record<string, (number: number) => string>> = {
  slug: (number) => `fresh-${number}`,
  email: (number) => `fresh${number}@learners.example`,
  code: (number) => `FRESH${number}`,
  name: (number) => `Fresh ${number}`,
  path: (number) => `fresh/${number}.txt`,
}

/**
 * Returns a valid body for a new member of the family. The body has the fields of the first member, with new unique
 * values.
 */
export async function freshDraft(
  platform: Platform,
  family: CollectionFamily,
  number: number,
): Promise<Document> {
  const { json } = await platform.askAs('writer', `${familyPath(family)}?limit=1`)
  const [first = {}] = json['items'] as readonly Document[]
  const draft = Object.fromEntries(Object.keys(family.fields).map((name) => [name, first[name]]))
  const own = (family.unique ?? []).map((name) => [name, UNIQUE[name]?.(number)] as const)
  return { ...draft, ...Object.fromEntries(own) }
}
