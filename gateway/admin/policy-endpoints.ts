import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { ManagementEndpoint, ManagementResponse } from '../../platform/ops/management-endpoint.ts'
import { policySchema } from '../../policy-engine/format/policy-schema.ts'
import { explainFailure } from '../snapshot/reload/reload-failure.ts'
import type { ReloadReport, ReloadTrigger } from '../snapshot/reload/reload-report.ts'
import { sourceToJson } from './describe-policies.ts'

export function policyEndpoints(policies: {
  readonly reload: (trigger: ReloadTrigger) => Promise<ReloadReport>
  /** The active policies, as JSON; undefined: no worker can reply now. */
  readonly describe: () => Promise<string | undefined>
}): readonly ManagementEndpoint[] {
  return [
    {
      method: 'POST',
      path: '/reload',
      respond: async () => reloadResponse(await policies.reload('endpoint')),
    },
    {
      method: 'GET',
      path: '/policies',
      async respond() {
        const body = await policies.describe()
        return body === undefined ? { status: 503, body: NO_WORKER } : { status: 200, body }
      },
    },
    {
      method: 'GET',
      path: '/schemas/policy.v1.json',
      respond: () => ({ status: 200, body: policySchema('Policy'), type: 'application/schema+json' }),
    },
  ]
}

const NO_WORKER = { error: 'server_error', error_description: 'No worker is ready. Retry in a few seconds.' }

/**
 * Returns the response to `POST /reload`. Status 422: the policies are invalid. Status 503 or 500: the gateway could not
 * check the policies. In these cases, the active policies stay. Status 200: every other result. With policy sources,
 * `sources` shows the sources that are not valid.
 */
function reloadResponse(report: ReloadReport): ManagementResponse {
  return {
    status: statusOf(report),
    body: {
      result: report.result,
      hash: report.hash,
      previous_hash: report.previousHash,
      routes: report.routes,
      duration_ms: report.durationMs,
      diagnostics: report.diagnostics.map(toJson),
      ...(report.sources.length === 0 ? {} : { sources: report.sources.map(sourceToJson) }),
      workers: report.workers,
      ...errorOf(report),
    },
  }
}

function statusOf({ result, failure }: ReloadReport): number {
  if (failure !== undefined) return failure === 'internal_error' ? 500 : 503
  return result === 'broken' ? 422 : 200
}

function errorOf({ failure }: ReloadReport): object {
  if (failure === undefined) return {}
  const error_description = explainFailure(failure)
  return failure === 'internal_error'
    ? { error: 'server_error', error_description }
    : { error: 'policies_not_checked', error_description }
}

function toJson({ code, severity, message, location, hint }: Diagnostic): object {
  const { file, line, column } = location
  return { code, severity, message, file, line, column, hint }
}
