import type { TestResult } from '../../gateway/simulate/run-policy-tests.ts'
import type { CompiledRoute } from '../../policy-engine/decide/compile-policies.ts'

/** Outcome of a request that matches a route: allowed or denied with a token, or any decision without a token. */
export type RouteOutcome = 'allow' | 'deny' | 'anonymous'

/** The possible outcomes of a route, and whether a test reaches them. */
export type RouteCoverage = {
  readonly route: string
  readonly outcomes: Readonly<Partial<Record<RouteOutcome, boolean>>>
}

/** Returns, for each route, the outcomes that tests reach. A failed test reaches no outcome. */
export function measureCoverage(
  routes: readonly CompiledRoute[],
  results: readonly TestResult[],
): readonly RouteCoverage[] {
  const reached = new Map<string, Set<RouteOutcome>>()
  for (const { failures, simulation } of results) {
    const name = simulation?.decision.route?.policy.name
    if (
      name === undefined ||
      simulation === undefined ||
      failures.length > 0 ||
      simulation.decision.as === 'gateway'
    )
      continue
    const outcomes = reached.get(name) ?? new Set()
    // An audit-only denial counts as a denial.
    const { outcome, auditOnlyDenial } = simulation.decision
    const isAllowed = outcome === 'allow' && auditOnlyDenial === undefined
    outcomes.add(simulation.claims === undefined ? 'anonymous' : isAllowed ? 'allow' : 'deny')
    reached.set(name, outcomes)
  }
  return routes.map(({ policy }) => {
    const outcomes = reached.get(policy.name)
    const canDeny =
      policy.scopes !== undefined || policy.authentication !== undefined || policy.when.length > 0
    return {
      route: policy.name,
      outcomes: {
        allow: outcomes?.has('allow') === true,
        ...(canDeny ? { deny: outcomes?.has('deny') === true } : {}),
        anonymous: outcomes?.has('anonymous') === true,
      },
    }
  })
}
