import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import type { ApplyOutcome } from './policy-holder.ts'

/** Who wanted policies to be read again: the watch over the disk, SIGHUP, `POST /reload`, or workers that were replaced. */
export type ReloadAsker = 'watch' | 'signal' | 'endpoint' | 'roll'

/** What one worker did about a reload. */
export type WorkerReload = {
  readonly pid: number | undefined
  /** `silent`: it gave no answer in time. */
  readonly result: ApplyOutcome['result'] | 'silent'
  readonly hash: string | undefined
}

/** What became of a reload. */
export type ReloadReport = {
  readonly result: ApplyOutcome['result']
  /** Of the policies in force. */
  readonly hash: string
  /** Of those before, where others came into force. */
  readonly previousHash: string | undefined
  readonly routes: number
  readonly durationMs: number
  /** What is wrong with the policies on the disk; of good ones what may be wrong. */
  readonly diagnostics: readonly Diagnostic[]
  /** Where there are several. */
  readonly workers: readonly WorkerReload[] | undefined
}
