import { isRecord } from '../../platform/diagnostics/record.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'

/** A JSON object with unvalidated values. */
export type PlainMap = Readonly<Record<string, unknown>>

/** Returns an own property of a map, never a property of a prototype. */
export function own(map: unknown, key: string): unknown {
  return isRecord(map) && Object.hasOwn(map, key) ? map[key] : undefined
}

export function valueAt(root: unknown, path: YamlPath): unknown {
  let value = root
  for (const step of path) {
    if (Array.isArray(value) && typeof step === 'number') value = value[step]
    else value = own(value, String(step))
  }
  return value
}
