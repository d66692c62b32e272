import type { Target } from './load/load.ts'
import type { BenchProcess } from './start-process.ts'

/** A server under test: its process and its request. */
export type Subject = {
  readonly name: string
  readonly process: BenchProcess
  /**
   * Other processes that serve requests of the subject, on the same processor. The measured CPU time includes the CPU
   * time of these processes.
   */
  readonly helpers?: readonly BenchProcess[]
  /** Only this server uses the processor. Undefined if the server is not pinned. */
  readonly core: string | undefined
  readonly target: Target
  /** Prepares a round of `seconds` seconds before its measurement, for example obtains codes. */
  readonly prepare?: (seconds: number) => Promise<void>
  /**
   * Checks after each load that the server did all its work, such as logging. A server that omits work would give wrong
   * figures.
   * @throws {BenchError} ERR_BENCH_INCOMPLETE.
   */
  readonly verify?: (answered: number) => Promise<void>
}
