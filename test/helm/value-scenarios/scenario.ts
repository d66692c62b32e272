import type { ChartView } from '../chart-view.ts'

/** A key of values.yaml, a function that reads a rendered field, and the expected value of this field. */
type ValueCheck = readonly [value: string, read: (chart: ChartView) => unknown, expected: unknown]

/** Values for one rendering of the chart, and the checks of the rendered objects. */
export type Scenario = {
  readonly name: string
  /** Default: `gw`. */
  readonly release?: string
  readonly values: object
  readonly checks: readonly ValueCheck[]
}
