/** A measurement other than CPU time per request, with one value for each round. */
export type Figure = {
  readonly name: string
  readonly unit: string
  readonly found: readonly number[]
  /** Maximum target of the median. Undefined without a target. Shown, never enforced. */
  readonly goal: number | undefined
}
