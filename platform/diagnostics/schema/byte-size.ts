export const BYTE_SIZE_PATTERN = '^[0-9]{1,6}(B|KiB|MiB|GiB)$'

const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  B: 1,
  KiB: 1_024,
  MiB: 1_048_576,
  GiB: 1_073_741_824,
}

/**
 * Parses a size such as `512B`, `16KiB`, `10MiB` or `1GiB`. Rejects decimal units (`KB`), because they are ambiguous.
 * @returns bytes, or undefined when the text is not a size.
 */
export function parseByteSize(text: string): number | undefined {
  if (!new RegExp(BYTE_SIZE_PATTERN).test(text)) return undefined
  const unit = text.replace(/^[0-9]+/, '')
  const bytesPerUnit = BYTES_PER_UNIT[unit]
  return bytesPerUnit === undefined ? undefined : Number.parseInt(text, 10) * bytesPerUnit
}

/** Formats bytes in the largest unit that divides them, e.g. `10MiB`. */
export function formatByteSize(bytes: number): string {
  const [unit, size] = Object.entries(BYTES_PER_UNIT).findLast(([, one]) => bytes % one === 0) ?? ['B', 1]
  return `${bytes / size}${unit}`
}
