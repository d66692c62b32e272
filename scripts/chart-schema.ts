import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPackageRoot } from '../platform/process/package-root.ts'

/**
 * Returns the content of helm/values.schema.json: helm/strict.schema.json without the rules for names of keys, without
 * required keys, and without patterns that have a description. helm/templates/_keys.tpl checks these, because the
 * messages of helm contain no remedy, name a wrong place for `propertyNames`, and print a value that contains a password.
 */
export function chartSchema(): string {
  const strict: object = JSON.parse(readFileSync(join(findPackageRoot(), 'helm/strict.schema.json'), 'utf8'))
  const $comment = 'Generated from strict.schema.json with `npm run docs`. Change that file instead.'
  return `${JSON.stringify(relax({ $comment, ...strict }), null, 2)}\n`
}

const NOT_COPIED = ['required', 'propertyNames']

/** Keeps the entries of `oneOf`, because their keys select the entry. */
function relax(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(relax)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(
        ([key, value]) =>
          !NOT_COPIED.includes(key) &&
          (key !== 'additionalProperties' || value !== false) &&
          (key !== 'pattern' || !('description' in schema)),
      )
      .map(([key, value]) => [key, key === 'oneOf' ? value : relax(value)]),
  )
}
