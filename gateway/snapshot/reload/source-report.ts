import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { SourceState } from '../../../policy-engine/load/load-policy-sources.ts'
import type { GatewayCheck } from '../../observability/readiness-check.ts'
import { describeLocation } from './describe-location.ts'

/** Maximum number of errors of a source in one log line. */
const LOGGED_ERRORS = 20

/**
 * Logs each source that became valid again or invalid. Also logs each invalid source whose state, first error or number
 * of errors changed.
 */
export function logSourceChanges(
  logger: Logger,
  before: readonly SourceState[],
  after: readonly SourceState[],
): void {
  const known = new Map(before.map((state) => [state.name, state]))
  for (const state of after) {
    const earlier = known.get(state.name)
    if (state.state === 'valid') {
      if (earlier === undefined || earlier.state === 'valid') continue
      logger.info(
        { event: 'policy_source_valid', source: state.name, owner: state.owner, version: state.version },
        'the policy source is valid again',
      )
    } else if (earlier === undefined || summaryOf(earlier) !== summaryOf(state)) logInvalid(logger, state)
  }
}

function logInvalid(logger: Logger, state: SourceState): void {
  const [first] = state.errors
  logger.error(
    {
      event: 'policy_source_invalid',
      source: state.name,
      owner: state.owner,
      state: state.state,
      version: state.version,
      errors: state.errors.length,
      diagnostic: first?.code,
      place: first && describeLocation(first.location),
      diagnostics: formatDiagnostics(state.errors.slice(0, LOGGED_ERRORS)),
    },
    `the policy source is invalid, ${EFFECT[state.state]}: ${describeProblem(state)}`,
  )
}

const EFFECT = {
  valid: 'its files are active',
  kept: 'its last valid version stays active',
  unavailable: 'requests for its paths get 503',
} as const

/** Returns the checks of `/readyz?verbose`. The gateway stays ready with an invalid source. */
export function checkSourceStates(states: readonly SourceState[]): readonly GatewayCheck[] {
  return states.map((state) => {
    const source = { kind: 'policy_source', name: `policy source ${state.name}`, source: state.name } as const
    const detail = `${state.routes} routes${state.version === undefined ? '' : `, ${state.version.slice(0, 12)}`}`
    if (state.state === 'valid') return { ...source, ok: true, detail }
    return {
      ...source,
      ok: true,
      degraded: true,
      detail: `${detail}, ${EFFECT[state.state]}; ${describeProblem(state)}`,
    }
  })
}

function describeProblem({ errors }: SourceState): string {
  const [first] = errors
  if (first === undefined) return 'no error'
  const more = errors.length === 1 ? '' : ` (${errors.length} errors)`
  return `${describeLocation(first.location)}: error[${first.code}]: ${first.message}${more}`
}

function summaryOf(state: SourceState): string {
  return `${state.state} ${describeProblem(state)}`
}
