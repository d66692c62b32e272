/** Something measured that is not CPU time per request, round by round. */
export type Figure = {
  readonly name: string
  readonly unit: string
  readonly found: readonly number[]
  /** Maximum target of the median. Undefined without a target. Shown, never enforced. */
  readonly goal: number | undefined
}
