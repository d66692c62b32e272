import { readImplication, type ScopeImplication } from '../../../oauth/scope-implication.ts'
import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { runSliced, runSync, type Steps } from '../../../platform/diagnostics/run-sliced.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { PolicySources } from '../../../policy-engine/load/policy-sources.ts'
import type { Snapshot } from '../route.ts'
import type { BrokenPolicies, CheckedPolicies } from './check-sources.ts'

/** What became of policies that were to come into force. Plain data. */
export type ApplyOutcome =
  | {
      /** `unchanged`: they were in force already. */
      readonly result: 'applied' | 'unchanged'
      readonly hash: string
      readonly routes: number
      readonly warnings: readonly Diagnostic[]
    }
  | { readonly result: 'broken'; readonly hash: string; readonly problems: readonly Diagnostic[] }

/** The policies in force, as `GET /policies` shows them. */
export type ActivePolicies = {
  readonly hash: string
  readonly routes: readonly PolicyRoute[]
  readonly implication: ScopeImplication
}

/** The one snapshot in force, and the way to another one. */
export type PolicyHolder = {
  /** Asked once per request. */
  current(): Snapshot
  inForce(): ActivePolicies
  /**
   * Checks and compiles all of it beside the requests that are being served, then exchanges the snapshot in one step.
   * Broken policies change nothing. One call after the other.
   */
  apply(sources: PolicySources): Promise<ApplyOutcome>
}

/** What a holder needs to make a snapshot. */
export type PolicyHolderOptions = {
  readonly check: (sources: PolicySources) => Steps<CheckedPolicies | BrokenPolicies>
  readonly compile: (policies: CheckedPolicies) => Steps<Snapshot>
  /** Told when policies have come into force, the first ones included. */
  readonly onApplied: (policies: CheckedPolicies) => void
}

/** Opens with the policies that the process starts with. */
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
      return { result: 'unchanged', hash: next.hash, routes: policies.routes.length, warnings: [] }
    const checked = await runSliced(check(next))
    if ('problems' in checked) return { result: 'broken', ...checked }
    const compiled = await runSliced(compile(checked))
    policies = checked
    snapshot = compiled
    onApplied(checked)
    const { hash, routes, warnings } = checked
    return { result: 'applied', hash, routes: routes.length, warnings }
  }

  return {
    current: () => snapshot,
    inForce: () => ({
      hash: policies.hash,
      routes: policies.routes,
      implication: readImplication(policies.catalogue),
    }),
    apply(next) {
      const applied = turn.then(() => apply(next))
      turn = applied.catch(() => undefined)
      return applied
    },
  }
}
