import type { SourceLocation } from '../../../platform/diagnostics/diagnostic.ts'

/** Returns a location in the format that editors read: `file:line:column`. */
export function describeLocation({ file, line, column }: SourceLocation): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`
}
