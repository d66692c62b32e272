import type { CollectionFamily } from '../families/family.ts'
import type { Document } from '../families/json-schema.ts'
import { entityTag, matchesTag } from '../http/entity-tag.ts'
import { type Problem, problem } from '../http/problem.ts'
import type { Collection } from '../store/collection.ts'
import type { Links } from '../store/links.ts'
import type { Link } from '../store/read-links.ts'

type Rejection = { readonly rejected: Problem }

/** Checks rules that a schema cannot express: the rule of the family, and unique values. */
export function checkDocument(
  family: CollectionFamily,
  collection: Collection,
  body: Document,
  id: string,
): Rejection | undefined {
  const broken = family.check?.(body)
  if (broken !== undefined) return problem('invalid_request', `${broken.field}: ${broken.problem}.`)
  for (const field of family.unique ?? []) {
    const holder = collection.holderOf(field, String(body[field]), id)
    if (holder !== undefined) return problem('conflict', `${field}: ${holder} already has this value.`)
  }
  return undefined
}

/** All referenced resources must exist. */
export function checkLinks(links: Links, named: readonly Link[]): Rejection | undefined {
  const missing = links.missing(named)
  if (missing === undefined) return undefined
  const family = missing.target.replaceAll('_', ' ')
  return problem('invalid_request', `${missing.field}: unknown id in ${family}.`)
}

/** Compares If-Match with the current representation for the caller. Source: RFC 9110 section 13.1.1. */
export function checkUnchanged(ifMatch: string | undefined, representation: Document): Rejection | undefined {
  if (ifMatch === undefined || matchesTag(ifMatch, entityTag(representation), 'strong')) return undefined
  return problem('precondition_failed', 'The resource changed after you read it. Read it again.')
}
