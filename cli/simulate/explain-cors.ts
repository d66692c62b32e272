import type { Decision, DecisionRequest } from '../../policy-engine/decide/decide.ts'
import { readBrowserHeader } from '../../policy-engine/decide/preflight.ts'
import { allowsOrigin, type CorsRule } from '../../policy-engine/load/policy-route.ts'

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
  { method, canonical }: DecisionRequest,
  { route, preflight }: Decision,
): ExplainedCors | undefined {
  if (preflight !== undefined) {
    const { asked, decision } = preflight
    return {
      isPreflight: true,
      origin: asked.origin,
      method: asked.method,
      isAllowed: decision.origin !== undefined && decision.methods.includes(asked.method),
      deniedHeaders: asked.headers.filter((name) => !decision.headers.includes(name)),
      rule: undefined,
    }
  }
  const rule = route?.policy.cors
  if (rule === undefined) return undefined
  const origin = readBrowserHeader(canonical.headers, 'origin')
  const isAllowed = allowsOrigin(rule, origin, method)
  return { isPreflight: false, origin, method, isAllowed, deniedHeaders: [], rule }
}
