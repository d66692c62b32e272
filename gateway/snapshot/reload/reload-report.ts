import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import type { AuditLog } from '../../../platform/logging/audit-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { SourceState } from '../../../policy-engine/load/load-policy-sources.ts'
import { describeLocation } from './describe-location.ts'
import type { ApplyOutcome } from './policy-holder.ts'
import { RELOAD_FAILURES, type ReloadFailure } from './reload-failure.ts'

/** Trigger of a reload: the file watch, SIGHUP, `POST /reload`, or a rolling restart of the workers. */
export type ReloadTrigger = 'watch' | 'signal' | 'endpoint' | 'roll'

export type WorkerReload = {
  readonly pid: number | undefined
  /** `failed`: the worker exited, or has a defect. The supervisor replaces the worker. */
  readonly result: ApplyOutcome['result'] | 'failed'
  readonly hash: string | undefined
}

export type ReloadReport = {
  /** `not_checked`: the gateway could not check the policies, so they can be valid. */
  readonly result: ApplyOutcome['result'] | 'not_checked'
  /** Undefined unless the result is `not_checked`. */
  readonly failure: ReloadFailure | undefined
  /** Hash of the active policies. */
  readonly hash: string
  /** Hash of the previous policies, if the reload replaced the active policies. */
  readonly previousHash: string | undefined
  readonly routes: number
  readonly durationMs: number
  /** Errors and warnings of the policies on the disk, including the errors of invalid policy sources. */
  readonly diagnostics: readonly Diagnostic[]
  /** The state of each policy source. Empty without policy sources. */
  readonly sources: readonly SourceState[]
  /** Undefined: the gateway runs in a single process. */
  readonly workers: readonly WorkerReload[] | undefined
}

/** Facts about a reload that the report of the reload does not contain. */
type Circumstances = {
  readonly trigger: ReloadTrigger
  /** Whether the log already contains the same invalid policies. */
  readonly known: boolean
  readonly invalidHash: string
  /** Whether the previous policies on the disk were invalid. */
  readonly restored: boolean
}

/**
 * Logs the outcome of a reload:
 * - a line and an audit line for new active policies
 * - a line if the policies on the disk equal the active policies, after a reload on request or after invalid policies
 * - the errors of invalid policies; source excerpts only the first time for the same files
 * - nothing for a check of the disk that found no change
 */
export function logReload(
  { logger, audit }: { readonly logger: Logger; readonly audit: AuditLog },
  report: ReloadReport,
  circumstances: Circumstances,
): void {
  const { hash, previousHash, routes, durationMs, diagnostics } = report
  const { trigger, known, restored, invalidHash } = circumstances
  switch (report.result) {
    case 'applied':
      logger.info(
        {
          event: 'policy_reloaded',
          asked_by: trigger,
          policy_hash: hash,
          previous_policy_hash: previousHash,
          routes,
          duration_ms: durationMs,
        },
        'policies reloaded',
      )
      audit('policies_changed', { asked_by: trigger, policy_hash: hash, previous_policy_hash: previousHash })
      return
    case 'unchanged':
      if (restored)
        logger.info(
          { event: 'policy_restored', asked_by: trigger, policy_hash: hash },
          'the policies on disk equal the active policies again',
        )
      else if (isOnRequest(trigger))
        logger.info(
          { event: 'policy_unchanged', asked_by: trigger, policy_hash: hash },
          'the policies on disk equal the active policies',
        )
      return
    case 'broken': {
      if (known && !isOnRequest(trigger)) return
      const errors = diagnostics.filter(({ severity }) => severity === 'error')
      const [first] = errors
      logger.error(
        {
          event: 'policy_reload_failed',
          asked_by: trigger,
          policy_hash: hash,
          broken_policy_hash: invalidHash,
          errors: errors.length,
          ...(known ? {} : { diagnostics: formatDiagnostics(errors) }),
        },
        `the policies on disk are ${known ? 'still ' : ''}invalid, the active policies stay${
          first === undefined
            ? ''
            : `: ${describeLocation(first.location)}: error[${first.code}]: ${first.message}`
        }`,
      )
    }
  }
}

/** Returns whether an operator or a program waits for the result of the reload. */
function isOnRequest(trigger: ReloadTrigger): boolean {
  return trigger === 'signal' || trigger === 'endpoint'
}

/** Logs a reload that ended before the gateway knew whether the policies are valid. */
export function logReloadFailure(
  logger: Logger,
  { hash, workers }: ReloadReport,
  failed: {
    readonly failure: ReloadFailure
    readonly trigger: ReloadTrigger
    readonly error?: unknown
    readonly uncheckedHash?: string | undefined
  },
): void {
  const { failure, trigger, error, uncheckedHash } = failed
  const { remedy } = RELOAD_FAILURES[failure]
  const common = { asked_by: trigger, policy_hash: hash }
  const pids = workers?.map(({ pid }) => pid)
  switch (failure) {
    case 'workers_exited':
      logger.error(
        {
          event: 'policy_reload_workers_exited',
          ...common,
          unchecked_policy_hash: uncheckedHash,
          pids,
          remedy,
        },
        'each worker that got the policies exited during the reload: the active policies stay',
      )
      return
    case 'no_worker_ready':
      logger.error(
        { event: 'policy_reload_no_worker', ...common, remedy },
        'no worker is ready to check the policies: the active policies stay',
      )
      return
    case 'internal_error':
      logger.error(
        { event: 'policy_reload_internal_error', ...common, err: error, pids, remedy },
        'a defect prevented the check of the policies: the active policies stay',
      )
      return
    case 'stopping':
      if (isOnRequest(trigger))
        logger.info(
          { event: 'policy_reload_stopped', ...common, remedy },
          'the gateway shuts down: the reload has no result',
        )
  }
}
