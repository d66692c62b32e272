/** Something measured that is not CPU time per request, round by round. */
export type Figure = {
  readonly name: string
  readonly unit: string
  readonly found: readonly number[]
  /** The most that the median should be; undefined where there is no target. Shown, never enforced. */
  readonly goal: number | undefined
}
