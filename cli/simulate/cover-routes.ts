import type { CompiledRoute } from '../../policy-engine/decide/compile-policies.ts'
import type { TestResult } from './run-policy-tests.ts'

/** What can become of a request at a route: with a token it is allowed or denied; without one, whatever comes of it. */
export type RouteOutcome = 'allow' | 'deny' | 'anonymous'

/** Which outcomes of a route some test reaches; one that cannot come about is not among them. */
export type RouteCoverage = {
  readonly route: string
  readonly outcomes: Readonly<Partial<Record<RouteOutcome, boolean>>>
}

/** Finds, for each route, the outcomes that no test reaches. A test that fails reaches nothing. */
export function coverRoutes(
  routes: readonly CompiledRoute[],
  results: readonly TestResult[],
): readonly RouteCoverage[] {
  const reached = new Map<string, Set<RouteOutcome>>()
  for (const { failures, trial } of results) {
    const name = trial?.decision.route?.policy.name
    if (name === undefined || trial === undefined || failures.length > 0 || trial.decision.as === 'gateway')
      continue
    const outcomes = reached.get(name) ?? new Set()
    // Where a policy only reports, what it would refuse counts as refused.
    const { outcome, reported } = trial.decision
    const isAllowed = outcome === 'allow' && reported === undefined
    outcomes.add(trial.claims === undefined ? 'anonymous' : isAllowed ? 'allow' : 'deny')
    reached.set(name, outcomes)
  }
  return routes.map(({ policy }) => {
    const met = reached.get(policy.name)
    const canDeny = policy.scopes !== undefined || policy.when.length > 0
    return {
      route: policy.name,
      outcomes: {
        allow: met?.has('allow') === true,
        ...(canDeny ? { deny: met?.has('deny') === true } : {}),
        anonymous: met?.has('anonymous') === true,
      },
    }
  })
}
