import type { Use } from './availability-load.ts'
import { isWrong, type Phase, succeeded } from './availability-result.ts'
import { type Measurement, measuredCount } from './measurement.ts'

/** One change of the topology under load. Times are milliseconds of `performance.now()`. */
export type Step = {
  readonly name: string
  readonly startedMs: number
  readonly endedMs: number
  /** Time after the change at which the revocation channels of all gateways were open. */
  readonly openMs: number
  /** Undefined if no process was killed. */
  readonly kill: Kill | undefined
}

/** The failures after a kill that the topology permits, and their description. */
export type Kill = { readonly permits: (use: Use) => boolean; readonly permitted: string }

const INVALID_GRANT = 400

/** Counts the failed requests of one step. Only a kill permits failed requests. */
export function summarizeStep(
  uses: readonly Use[],
  step: Step,
): { readonly rows: readonly Measurement[]; readonly otherFailures: readonly Use[] } {
  const { name, kill } = step
  const phase: Phase = { fault: 'rolling', ...step }
  const failed = uses.filter((use) => use.kind !== 'revoked' && !succeeded(use))
  const [permitted = [], otherFailures = []] = [true, false].map((isPermitted) =>
    failed.filter((use) => (kill?.permits(use) ?? false) === isPermitted),
  )
  const report = (what: string, count: number): Measurement => ({
    what: `${name}: ${what}`,
    measured: String(count),
    limit: 'none',
    passed: undefined,
  })
  const rows = [
    report('requests', uses.length),
    ...(kill === undefined ? [] : [report(`failed, ${kill.permitted}`, permitted.length)]),
    measuredCount(`${name}: other failed requests`, otherFailures.length, 0),
    measuredCount(`${name}: wrong decisions`, uses.filter((use) => isWrong(use, phase)).length, 0),
    measuredCount(`${name}: lost grants`, uses.filter(isLostGrant).length, 0),
  ]
  return { rows, otherFailures }
}

function isLostGrant({ kind, status }: Use): boolean {
  return kind === 'refresh' && status === INVALID_GRANT
}
