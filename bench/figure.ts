/** A measurement other than CPU time per request, with one value for each round. */
export type Figure = {
  readonly name: string
  readonly unit: string
  readonly found: readonly number[]
  /** Maximum for the median. Undefined without a target. The target is shown, but not enforced. */
  readonly goal: number | undefined
}
