import type { Target } from './load/load.ts'
import type { BenchProcess } from './start-process.ts'

/** A server under test: its process and its request. */
export type Subject = {
  readonly name: string
  readonly process: BenchProcess
  /** Further processes that serve its requests, on the same processor. Their CPU time counts too. */
  readonly helpers?: readonly BenchProcess[]
  /** The processor that it runs on and nothing else should; undefined when it is not pinned. */
  readonly core: string | undefined
  readonly target: Target
  /**
   * Looks after each load whether the server did all of its work, so that nothing is measured with a part switched off.
   * @throws {BenchError} ERR_BENCH_INCOMPLETE.
   */
  readonly verify?: (answered: number) => Promise<void>
}
