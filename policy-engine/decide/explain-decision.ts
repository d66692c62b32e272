import type { Condition, Literal } from '../load/policy-route.ts'
import { matchesTemplate } from '../match/path-template.ts'
import type { Caller } from './caller.ts'
import { checkToken, missingScopes, requestValues } from './check-access.ts'
import { type AuthenticationFault, checkAuthentication } from './check-authentication.ts'
import type { CompiledPolicies, CompiledRoute } from './compile-policies.ts'
import type { Decision, DecisionRequest } from './decide.ts'
import type { ClaimValue } from './named-claims.ts'
import type { TokenFault } from './rejection.ts'

/** The result of each rule. After the first rejection, the remaining rules are also evaluated. */
export type Explanation = {
  /** Other routes whose path template matches the request. */
  readonly alsoSaw: readonly CompiledRoute[]
  /** Result of the token checks for this path. undefined without a token or without a matching route. */
  readonly token: { readonly held: boolean; readonly fault: TokenFault | undefined } | undefined
  /** Result of the check of the sign-in. undefined without a token, or if the route does not require a sign-in. */
  readonly authentication:
    | { readonly held: boolean; readonly fault: AuthenticationFault | undefined }
    | undefined
  /** Result of the scope check. undefined without a token, or if the route does not require scopes. */
  readonly scopes: { readonly held: boolean; readonly missing: readonly string[] } | undefined
  /** Results of all conditions of the route. Empty without a token. */
  readonly conditions: readonly ExplainedCondition[]
}

export type ExplainedCondition = {
  readonly condition: Condition
  readonly held: boolean
  /** Value of the claim. undefined: the token does not have the claim. */
  readonly claim: ClaimValue | undefined
  /** Values with which the claim was compared. undefined: the request value is missing or ambiguous. */
  readonly operands: readonly (Literal | undefined)[]
}

/** Explains the decision of `decide()` on a request. Pure. Cost: compares the path with all routes once. */
export function explainDecision(
  { route, params }: Decision,
  { canonical, nowSeconds, possessionProof }: DecisionRequest,
  caller: Caller | undefined,
  policies: Pick<CompiledPolicies, 'routes'>,
): Explanation {
  const { path } = canonical
  const alsoSaw = policies.routes.filter((one) => one !== route && matchesTemplate(path, one.path))
  if (route === undefined || caller === undefined)
    return { alsoSaw, token: undefined, authentication: undefined, scopes: undefined, conditions: [] }
  const values = requestValues({ canonical, params })
  const fault = checkToken({ nowSeconds, possessionProof, resource: route.resourceOf(path) }, caller)
  const { authentication: rule } = route.access
  const unmet = rule && checkAuthentication(caller.claims, rule, nowSeconds)
  const missing = route.access.scopes && missingScopes(caller.scopes, route.access.scopes)
  return {
    alsoSaw,
    token: { held: fault === undefined, fault },
    authentication: rule && { held: unmet === undefined, fault: unmet },
    scopes: missing && { held: missing.length === 0, missing },
    conditions: route.access.when.map(({ condition, holds, operands }) => ({
      condition,
      held: holds(caller.claims, values),
      claim: caller.claims.get(condition.claim),
      operands: operands(values),
    })),
  }
}
