/** Returns a time of a payload as ISO 8601 text. */
export function timeOf(seconds: unknown): string | null {
  return typeof seconds === 'number' ? new Date(seconds * 1_000).toISOString() : null
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
