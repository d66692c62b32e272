import { parseByteSize, parseDurationMs } from '../../platform/diagnostics/schema/value-formats.ts'

// The schema has already validated both formats, so parsing cannot fail.

export function milliseconds(text: string): number {
  return parseDurationMs(text) ?? 0
}

export function bytes(text: string): number {
  return parseByteSize(text) ?? 0
}
