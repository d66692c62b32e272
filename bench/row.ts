import type { Cores } from './choose-cores.ts'
import type { Cleanup } from './cleanup.ts'
import type { Figure } from './figure.ts'
import type { Measured } from './measure-rounds.ts'

export type Bench = {
  /** Undefined if the server under test cannot have its own processor. */
  readonly cores: Cores | undefined
  /** An empty folder for this row. The benchmark removes the folder after the row. */
  readonly folder: string
  /** The benchmark runs these functions even if the row fails or is interrupted. */
  readonly cleanup: Cleanup
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  /** A revision to compare with (`--previous`). Only the rows `first-use`, `http2`, `tracing` and `console` use it. */
  readonly previous?: string | undefined
  readonly printProgress: (text: string) => void
}

/** Two subjects, and the target for the ratio of their CPU times per request. */
export type Ratio = {
  readonly of: string
  readonly to: string
  /**
   * Target: maximum for the median ratio. Undefined for a ratio without a target. The benchmark prints whether the
   * median reaches the target, but does not fail.
   */
  readonly goal: number | undefined
}

export type RowResult = {
  readonly title: string
  /** For example the load generator, the upstream, and the number of connections. */
  readonly conditions: Readonly<Record<string, string>>
  /** Empty in a row without load. */
  readonly measured: readonly Measured[]
  readonly ratios: readonly Ratio[]
  readonly figures?: readonly Figure[]
}

/** One measurement of `npm run bench`, which prints a table for each row. */
export type Row = { readonly name: string; readonly run: (bench: Bench) => Promise<RowResult> }
