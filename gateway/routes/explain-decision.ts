import type { Caller } from '../identity/caller.ts'
import type { TokenFault } from '../refusal.ts'
import { checkToken, missingScopes } from './check-access.ts'
import type { CompiledPolicies, CompiledRoute } from './compile-policies.ts'
import { type Decision, type DecisionRequest, decide } from './decide.ts'
import { meetsTemplate } from './meets-template.ts'

/** A decision with everything it was made of, each rule looked at whether or not another one had refused already. */
export type Explanation = {
  readonly decision: Decision
  /** Other routes on the same path, that the method (or a header) kept the request from. */
  readonly alsoSaw: readonly CompiledRoute[]
  /** Whether the token is good for this path; undefined when none was sent, or no route was met. */
  readonly token: { readonly held: boolean; readonly fault: TokenFault | undefined } | undefined
  /** Whether the token has what the route asks for; undefined without a token, or where nothing is asked for. */
  readonly scopes: { readonly held: boolean; readonly missing: readonly string[] } | undefined
}

/** Decides as `decide` does, and says why. Pure. Cost: looks at every route once. */
export function explainDecision(
  request: DecisionRequest,
  caller: Caller | undefined,
  policies: Pick<CompiledPolicies, 'match' | 'routes'>,
): Explanation {
  const decision = decide(request, caller, policies)
  const { route } = decision
  const alsoSaw = policies.routes.filter((one) => one !== route && meetsTemplate(request.path, one.path))
  if (route === undefined || caller === undefined)
    return { decision, alsoSaw, token: undefined, scopes: undefined }
  const { nowSeconds, proven, path } = request
  const fault = checkToken({ nowSeconds, proven, resource: route.resourceOf(path) }, caller)
  const missing = route.access.scopes && missingScopes(caller.scopes, route.access.scopes)
  return {
    decision,
    alsoSaw,
    token: { held: fault === undefined, fault },
    scopes: missing && { held: missing.length === 0, missing },
  }
}
