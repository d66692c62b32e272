import { parseByteSize } from '../../platform/diagnostics/schema/byte-size.ts'
import { parseDurationMs } from '../../platform/diagnostics/schema/duration.ts'

// Both have been matched against the schema's pattern, so they parse.

/** A duration that the schema has let through, in milliseconds. */
export function milliseconds(text: string): number {
  return parseDurationMs(text) ?? 0
}

/** A size that the schema has let through, in bytes. */
export function bytes(text: string): number {
  return parseByteSize(text) ?? 0
}
