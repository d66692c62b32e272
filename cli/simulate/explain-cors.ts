import type { CompiledPolicies } from '../../policy-engine/decide/compile-policies.ts'
import type { Decision, DecisionRequest } from '../../policy-engine/decide/decide.ts'
import { decidePreflight, readBrowserHeader, readPreflight } from '../../policy-engine/decide/preflight.ts'
import type { CorsRule } from '../../policy-engine/load/cors-rule.ts'
import { allowsOrigin } from '../../policy-engine/load/cors-rule.ts'
import { isReservedPath } from '../../policy-engine/match/reserved-paths.ts'

export type ExplainedCors = {
  readonly isPreflight: boolean
  /** Undefined when the request has no `Origin` header. */
  readonly origin: string | undefined
  readonly method: string
  readonly isAllowed: boolean
  /** The requested headers of a preflight that are not allowed. */
  readonly deniedHeaders: readonly string[]
  /** The `cors` of the route. Undefined for a preflight, because several routes can decide it. */
  readonly rule: CorsRule | undefined
}

/** Explains a preflight, and a request to a route with `cors`. @returns undefined for every other request. */
export function explainCors(
  request: DecisionRequest,
  { route }: Decision,
  policies: CompiledPolicies,
): ExplainedCors | undefined {
  const { method, path } = request
  const preflight = isReservedPath(path) ? undefined : readPreflight(method, request)
  if (preflight !== undefined) {
    const routes = policies.routesAt(path)
    const decision = decidePreflight(preflight, routes, {
      methods: [...routes.keys()],
      ruleOf: ({ policy }) => policy.cors,
    })
    return {
      isPreflight: true,
      origin: preflight.origin,
      method: preflight.method,
      isAllowed: decision.origin !== undefined && decision.methods.includes(preflight.method),
      deniedHeaders: preflight.headers.filter((name) => !decision.headers.includes(name)),
      rule: undefined,
    }
  }
  const rule = route?.policy.cors
  if (rule === undefined) return undefined
  const origin = readBrowserHeader(request, 'origin')
  const isAllowed = allowsOrigin(rule, origin, method)
  return { isPreflight: false, origin, method, isAllowed, deniedHeaders: [], rule }
}
