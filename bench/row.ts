import type { Cores } from './choose-cores.ts'
import type { Cleanup } from './cleanup.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './measure-rounds.ts'

/** The resources of a row for its measurement. */
export type Bench = {
  /** Undefined when the server under test cannot have its own processor. */
  readonly cores: Cores | undefined
  /** An empty folder for this row, removed after the row. */
  readonly folder: string
  /** Ends all processes of the row, also when the row fails or is interrupted. */
  readonly cleanup: Cleanup
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  /** Reports progress to the user. */
  readonly printProgress: (text: string) => void
}

/** A comparison of two subjects of one run. */
export type Ratio = {
  readonly of: string
  readonly to: string
  /** Maximum for the ratio. Undefined without a target. The target is shown beside the figure, but not enforced. */
  readonly goal: number | undefined
}

/** The result of a row. */
export type RowResult = {
  readonly title: string
  /** The conditions of the figures: load generator, upstream, connections. */
  readonly conditions: Readonly<Record<string, string>>
  /** Subjects under load. Empty in a row without load. */
  readonly measured: readonly Measured[]
  readonly ratios: readonly Ratio[]
  readonly figures?: readonly Figure[]
}

/** One line of figures that `npm run bench` prints. */
export type Row = { readonly name: string; readonly run: (bench: Bench) => Promise<RowResult> }
