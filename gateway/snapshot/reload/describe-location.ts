import type { Place } from '../../../platform/diagnostics/diagnostic.ts'

/** A place as editors take it: `file:line:column`. */
export function describePlace({ file, line, column }: Place): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`
}
