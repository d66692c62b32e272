import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { ManagementAnswer } from '../../platform/ops/management-endpoint.ts'
import type { ReloadReport } from '../snapshot/reload/reload-report.ts'

/**
 * Returns the response to `POST /reload`: 200 when the policies on the disk are now active, 422 when they are invalid.
 */
export function reloadResponse(report: ReloadReport): ManagementAnswer {
  return {
    status: report.result === 'broken' ? 422 : 200,
    body: {
      result: report.result,
      hash: report.hash,
      previous_hash: report.previousHash,
      routes: report.routes,
      duration_ms: report.durationMs,
      diagnostics: report.diagnostics.map(toJson),
      workers: report.workers,
    },
  }
}

function toJson({ code, severity, message, place, hint }: Diagnostic): object {
  const { file, line, column } = place
  return { code, severity, message, file, line, column, hint }
}
