import type { Document } from '../families/json-schema.ts'

/**
 * Applies a JSON merge patch: null removes a field, an object merges recursively, any other value replaces.
 * The schema check of the patch limits its depth.
 * Source: RFC 7396 section 2.
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
