/** A measurement other than CPU time per request, with one value for each round. */
export type Figure = {
  readonly name: string
  readonly unit: string
  readonly found: readonly number[]
  /**
   * Target: maximum for the median. Undefined for a figure without a target. The benchmark prints whether the median
   * reaches the target, but does not fail.
   */
  readonly goal: number | undefined
}
