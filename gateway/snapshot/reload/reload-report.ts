import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import type { ApplyOutcome } from './policy-holder.ts'

/** Trigger of a reload: the file watch, SIGHUP, `POST /reload`, or a rolling restart of the workers. */
export type ReloadAsker = 'watch' | 'signal' | 'endpoint' | 'roll'

/** The result of a reload in one worker. */
export type WorkerReload = {
  readonly pid: number | undefined
  /** `silent`: the worker did not reply in time. */
  readonly result: ApplyOutcome['result'] | 'silent'
  readonly hash: string | undefined
}

export type ReloadReport = {
  readonly result: ApplyOutcome['result']
  /** Hash of the active policies. */
  readonly hash: string
  /** Hash of the previous policies, if others replaced them. */
  readonly previousHash: string | undefined
  readonly routes: number
  readonly durationMs: number
  /** Errors of invalid policies on the disk, or warnings about valid ones. */
  readonly diagnostics: readonly Diagnostic[]
  /** undefined in a single process. */
  readonly workers: readonly WorkerReload[] | undefined
}
