import type { Condition, Literal } from '../load/condition.ts'
import { matchesTemplate } from '../match/matches-template.ts'
import type { Caller } from './caller.ts'
import { checkToken, missingScopes } from './check-access.ts'
import type { CompiledPolicies, CompiledRoute } from './compile-policies.ts'
import { type Decision, type DecisionRequest, decide, requestValuesOf } from './decide.ts'
import type { ClaimValue } from './named-claims.ts'
import type { TokenFault } from './refusal.ts'

/** A decision with everything it was made of, each rule looked at whether or not another one had refused already. */
export type Explanation = {
  readonly decision: Decision
  /** Other routes on the same path, that the method (or a header) kept the request from. */
  readonly alsoSaw: readonly CompiledRoute[]
  /** Whether the token is good for this path; undefined when none was sent, or no route was met. */
  readonly token: { readonly held: boolean; readonly fault: TokenFault | undefined } | undefined
  /** Whether the token has what the route asks for; undefined without a token, or where nothing is asked for. */
  readonly scopes: { readonly held: boolean; readonly missing: readonly string[] } | undefined
  /** Every condition of the route, with what was compared; none without a token. */
  readonly conditions: readonly ExplainedCondition[]
}

/** A condition, and what it came to. */
export type ExplainedCondition = {
  readonly condition: Condition
  readonly held: boolean
  /** What the token says; undefined for a claim that is not there. */
  readonly claim: ClaimValue | undefined
  /** What it was compared with; undefined for what the request does not say clearly. */
  readonly operands: readonly (Literal | undefined)[]
}

/** Decides as `decide` does, and says why. Pure. Cost: looks at every route once. */
export function explainDecision(
  request: DecisionRequest,
  caller: Caller | undefined,
  policies: Pick<CompiledPolicies, 'match' | 'routes'>,
): Explanation {
  const decision = decide(request, caller, policies)
  const { route } = decision
  const alsoSaw = policies.routes.filter((one) => one !== route && matchesTemplate(request.path, one.path))
  if (route === undefined || caller === undefined)
    return { decision, alsoSaw, token: undefined, scopes: undefined, conditions: [] }
  const { nowSeconds, proven, path } = request
  const values = requestValuesOf(request, decision.params)
  const fault = checkToken({ nowSeconds, possessionProof: proven, resource: route.resourceOf(path) }, caller)
  const missing = route.access.scopes && missingScopes(caller.scopes, route.access.scopes)
  return {
    decision,
    alsoSaw,
    token: { held: fault === undefined, fault },
    scopes: missing && { held: missing.length === 0, missing },
    conditions: route.access.when.map(({ condition, holds, operands }) => ({
      condition,
      held: holds(caller.claims, values),
      claim: caller.claims.get(condition.claim),
      operands: operands(values),
    })),
  }
}
