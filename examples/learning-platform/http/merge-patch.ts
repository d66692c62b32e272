import type { Document } from '../families/json-schema.ts'

/**
 * Applies a JSON merge patch: null takes a field away, an object goes deeper, anything else replaces.
 * Source: RFC 7396 section 2. The patch has been checked against a closed schema before, which bounds its depth.
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
