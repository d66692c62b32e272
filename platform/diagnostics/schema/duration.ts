/** A whole number and a unit. Seven digits keep the milliseconds exact. */
export const DURATION_PATTERN = '^[0-9]{1,7}(ms|s|m|h|d)$'

/** A duration for a timer, from 1 ms to 99 h. Node fires a timer immediately when its delay exceeds 24.8 days. */
export const TIMEOUT_PATTERN = '^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,4}s|[1-9][0-9]{0,2}m|[1-9][0-9]?h)$'

/** A window for counters, from 1 s to 24 h, in whole seconds. */
export const WINDOW_PATTERN =
  '^([1-9][0-9]{0,3}s|[1-7][0-9]{4}s|8[0-5][0-9]{3}s|86[0-3][0-9]{2}s|86400s|[1-9][0-9]{0,2}m|1[0-3][0-9]{2}m|14[0-3][0-9]m|1440m|[1-9]h|1[0-9]h|2[0-4]h)$'

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/**
 * Parses a duration such as `250ms`, `5s`, `1m`, `12h` or `30d`.
 * @returns milliseconds, or undefined when the text is not a duration.
 */
export function parseDurationMs(text: string): number | undefined {
  if (!new RegExp(DURATION_PATTERN).test(text)) return undefined
  const unit = text.replace(/^[0-9]+/, '')
  const msPerUnit = MS_PER_UNIT[unit]
  return msPerUnit === undefined ? undefined : Number.parseInt(text, 10) * msPerUnit
}

/** Formats milliseconds in the largest unit that divides them, e.g. `90s` or `2m`. Does not use days. */
export function formatDuration(ms: number): string {
  const [unit, size] = Object.entries(MS_PER_UNIT).findLast(
    ([name, one]) => name !== 'd' && ms % one === 0,
  ) ?? ['ms', 1]
  return `${ms / size}${unit}`
}
