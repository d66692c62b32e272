const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const

/** Formats a time span with its two largest units, such as `2 h 5 min`. The shortest text is `less than 1 min`. */
export function formatAge(ms: number): string {
  let rest = Math.floor(ms / 1_000)
  const parts: string[] = []
  for (const [seconds, unit] of UNITS) {
    const count = Math.floor(rest / seconds)
    rest %= seconds
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.length === 0 ? 'less than 1 min' : parts.slice(0, 2).join(' ')
}

/** Formats a time as UTC, such as `2026-11-28 23:41:16 UTC`. Logs use the same time zone. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
