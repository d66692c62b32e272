import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-places.ts'

/** A JSON object whose values nobody has looked at yet. */
export type PlainMap = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object. */
export function isMap(value: unknown): value is PlainMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a map holds under a key of its own: never what a prototype has. */
export function own(map: unknown, key: string): unknown {
  return isMap(map) && Object.hasOwn(map, key) ? map[key] : undefined
}

/** What stands at the end of a way, or undefined. */
export function valueAt(root: unknown, path: YamlPath): unknown {
  let value = root
  for (const step of path) {
    if (Array.isArray(value) && typeof step === 'number') value = value[step]
    else value = own(value, String(step))
  }
  return value
}
