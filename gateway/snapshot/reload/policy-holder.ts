import { readImplication, type ScopeImplication } from '../../../oauth/scope.ts'
import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { runSliced, runSync, type Steps } from '../../../platform/diagnostics/run-sliced.ts'
import type { PolicyTest } from '../../../policy-engine/format/policy-test.ts'
import type { SourceState, UnavailablePrefix } from '../../../policy-engine/load/load-policy-sources.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { PolicySources } from '../../../policy-engine/load/policy-sources.ts'
import type { Snapshot } from '../route.ts'
import type { CheckedPolicies, InvalidPolicies } from './check-sources.ts'

/** The outcome of applying policies. Plain data, because workers send the outcome to the supervisor. */
export type ApplyOutcome =
  | {
      /** `unchanged`: these policies were already active. */
      readonly result: 'applied' | 'unchanged'
      readonly hash: string
      readonly routes: number
      readonly warnings: readonly Diagnostic[]
      /** The state of each policy source. Empty without policy sources. */
      readonly sources: readonly SourceState[]
    }
  | { readonly result: 'broken'; readonly hash: string; readonly problems: readonly Diagnostic[] }

export type ActivePolicies = {
  readonly hash: string
  readonly routes: readonly PolicyRoute[]
  readonly tests: readonly PolicyTest[]
  readonly implication: ScopeImplication
  readonly sources: readonly SourceState[]
  readonly unavailable: readonly UnavailablePrefix[]
}

export type PolicyHolder = {
  /** Returns the active snapshot. Called once per request. */
  current(): Snapshot
  active(): ActivePolicies
  /**
   * Validates and compiles the policies in slices between requests, then replaces the snapshot in one step. Invalid
   * policies change nothing. Calls run one after another.
   */
  apply(sources: PolicySources): Promise<ApplyOutcome>
}

export type PolicyHolderOptions = {
  readonly check: (sources: PolicySources) => Steps<CheckedPolicies | InvalidPolicies>
  readonly compile: (policies: CheckedPolicies) => Steps<Snapshot>
  /** Called after each change of the active policies, and after the activation of the first policies. */
  readonly onApplied: (policies: CheckedPolicies) => void
}

export function openPolicyHolder(
  first: CheckedPolicies,
  { check, compile, onApplied }: PolicyHolderOptions,
): PolicyHolder {
  let policies = first
  let snapshot = runSync(compile(first))
  let turn: Promise<unknown> = Promise.resolve()
  onApplied(first)

  async function apply(next: PolicySources): Promise<ApplyOutcome> {
    if (next.hash === policies.hash)
      return {
        result: 'unchanged',
        hash: next.hash,
        routes: policies.routes.length,
        warnings: [],
        sources: policies.sources,
      }
    const checked = await runSliced(check(next))
    if ('problems' in checked) return { result: 'broken', ...checked }
    const compiled = await runSliced(compile(checked))
    policies = checked
    snapshot = compiled
    onApplied(checked)
    const { hash, routes, warnings, sources } = checked
    return { result: 'applied', hash, routes: routes.length, warnings, sources }
  }

  return {
    current: () => snapshot,
    active: () => ({
      hash: policies.hash,
      routes: policies.routes,
      tests: policies.tests,
      implication: readImplication(policies.catalogue),
      sources: policies.sources,
      unavailable: policies.unavailable,
    }),
    apply(next) {
      const applied = turn.then(() => apply(next))
      turn = applied.catch(() => undefined)
      return applied
    },
  }
}
