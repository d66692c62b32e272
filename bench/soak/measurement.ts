export type Measurement = {
  readonly what: string
  readonly measured: string
  /** `none` for a number without a limit. */
  readonly limit: string
  /** Whether the number is within its limit. Undefined without a limit. */
  readonly passed: boolean | undefined
}

const MIB = 1_024 * 1_024

export function measuredRss(what: string, peakBytes: number, limitMib: number): Measurement {
  return {
    what: `${what}: peak RSS`,
    measured: `${(peakBytes / MIB).toFixed(0)} MiB`,
    limit: `<= ${limitMib} MiB`,
    passed: peakBytes <= limitMib * MIB,
  }
}

/** The count must be equal to its limit. */
export function measuredCount(what: string, measured: number, wanted: number): Measurement {
  return { what, measured: String(measured), limit: String(wanted), passed: measured === wanted }
}

const RESULTS = { true: 'passed', false: 'FAILED', undefined: '' } as const

export function formatMeasurements(rows: readonly Measurement[]): string {
  const width = (pick: (row: Measurement) => string): number =>
    Math.max(...rows.map((row) => pick(row).length))
  const what = width((row) => row.what)
  const measured = width((row) => row.measured)
  const limit = width((row) => row.limit)
  return rows
    .map((row) =>
      `${row.what.padEnd(what)}  ${row.measured.padStart(measured)}  limit ${row.limit.padEnd(limit)}  ${RESULTS[String(row.passed) as keyof typeof RESULTS]}`.trimEnd(),
    )
    .join('\n')
}
