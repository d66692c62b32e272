import type { Document } from '../families/json-schema.ts'

/**
 * Applies a JSON merge patch. Null removes a field, an object merges recursively, and any other value replaces the
 * value. The schema check of the patch limits the depth of the patch. Source: RFC 7396 section 2.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, mergePatch(result.get(name), value))
  }
  return Object.fromEntries(result)
}

function isObject(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
