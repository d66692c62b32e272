import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { describeLocation } from './describe-location.ts'
import type { ReloadAsker, ReloadReport } from './reload-report.ts'

/** What of a reload does not stand in its report. */
type Circumstances = {
  readonly asker: ReloadAsker
  /** The same broken policies were told of before. */
  readonly known: boolean
  readonly brokenHash: string
  /** Policies on the disk were broken until now. */
  readonly restored: boolean
}

/**
 * Tells what became of a reload: an audit line for policies that came into force, the errors of broken ones with their
 * carets once for each content, nothing about a look that found nothing new.
 */
export function logReload(logger: Logger, report: ReloadReport, circumstances: Circumstances): void {
  const { hash, previousHash, routes, durationMs, diagnostics } = report
  const { asker, known, restored, brokenHash } = circumstances
  switch (report.result) {
    case 'applied':
      logger.info(
        {
          event: 'policy_reloaded',
          asked_by: asker,
          policy_hash: hash,
          previous_policy_hash: previousHash,
          routes,
          duration_ms: durationMs,
        },
        'other policies are in force',
      )
      return
    case 'unchanged':
      if (restored)
        logger.info(
          { event: 'policy_restored', asked_by: asker, policy_hash: hash },
          'the policies on the disk are those in force again',
        )
      else if (asker === 'signal' || asker === 'endpoint')
        logger.info(
          { event: 'policy_unchanged', asked_by: asker, policy_hash: hash },
          'the policies on the disk are those in force',
        )
      return
    case 'broken': {
      if (known && asker !== 'signal' && asker !== 'endpoint') return
      const errors = diagnostics.filter(({ severity }) => severity === 'error')
      const [first] = errors
      logger.error(
        {
          event: 'policy_reload_failed',
          asked_by: asker,
          policy_hash: hash,
          broken_policy_hash: brokenHash,
          errors: errors.length,
          ...(known ? {} : { diagnostics: formatDiagnostics(errors) }),
        },
        `the policies on the disk ${known ? 'are still broken' : 'are broken'}, those in force stay${
          first === undefined
            ? ''
            : `: ${describeLocation(first.place)}: error[${first.code}]: ${first.message}`
        }`,
      )
    }
  }
}
