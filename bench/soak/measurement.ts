/** A measured number and its limit. */
export type Measurement = {
  readonly what: string
  readonly measured: string
  /** `none` for a number without a limit. */
  readonly bar: string
  /** Undefined without a limit. */
  readonly held: boolean | undefined
}

const MIB = 1_024 * 1_024

/** Resident memory and its limit. */
export function measuredRss(what: string, peakBytes: number, barMib: number): Measurement {
  return {
    what: `${what}: peak RSS`,
    measured: `${(peakBytes / MIB).toFixed(0)} MiB`,
    bar: `<= ${barMib} MiB`,
    held: peakBytes <= barMib * MIB,
  }
}

/** A count that must be exactly equal to its limit. */
export function measuredCount(what: string, measured: number, wanted: number): Measurement {
  return { what, measured: String(measured), bar: String(wanted), held: measured === wanted }
}

const RESULTS = { true: 'held', false: 'NOT HELD', undefined: '' } as const

/** Formats the lines of a table with aligned columns. */
export function formatMeasurements(rows: readonly Measurement[]): string {
  const width = (pick: (row: Measurement) => string): number =>
    Math.max(...rows.map((row) => pick(row).length))
  const what = width((row) => row.what)
  const measured = width((row) => row.measured)
  const bar = width((row) => row.bar)
  return rows
    .map((row) =>
      `${row.what.padEnd(what)}  ${row.measured.padStart(measured)}  bar ${row.bar.padEnd(bar)}  ${RESULTS[String(row.held) as keyof typeof RESULTS]}`.trimEnd(),
    )
    .join('\n')
}
