import type { SourceLocation } from '../../../platform/diagnostics/diagnostic.ts'

/** A place as editors take it: `file:line:column`. */
export function describeLocation({ file, line, column }: SourceLocation): string {
  return line === undefined ? file : `${file}:${line}:${column ?? 1}`
}
