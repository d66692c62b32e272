import type { Cores } from './choose-cores.ts'
import type { Cleanup } from './cleanup.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './measure-rounds.ts'

/** What a row is given to measure with. */
export type Bench = {
  /** Undefined on a machine that cannot keep the server under test apart. */
  readonly cores: Cores | undefined
  /** An empty folder of the row's own, removed afterwards. */
  readonly folder: string
  /** Ends what the row started, also when it fails or is interrupted. */
  readonly cleanup: Cleanup
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  /** Tells the person who waits what goes on. */
  readonly say: (text: string) => void
}

/** A comparison within one run. */
export type Ratio = {
  readonly of: string
  readonly to: string
  /** The most it should be, undefined where there is no target; shown beside the figure, never enforced. */
  readonly goal: number | undefined
}

/** What a row found. */
export type RowResult = {
  readonly title: string
  /** What the figures depend on: load generator, upstream, connections. */
  readonly conditions: Readonly<Record<string, string>>
  /** Subjects under load; none in a row that measures something else. */
  readonly measured: readonly Measured[]
  readonly ratios: readonly Ratio[]
  readonly figures?: readonly Figure[]
}

/** One line of figures that `npm run bench` prints. */
export type Row = { readonly name: string; readonly run: (bench: Bench) => Promise<RowResult> }
