import type { Mode } from '../format/policy-test.ts'
import type { PolicyRoute } from '../load/policy-route.ts'
import type { CanonicalRequest } from '../match/canonical-request.ts'
import type { CompiledPolicies, CompiledRoute } from './compile-policies.ts'
import { type Decision, denied } from './decide.ts'
import type { Rejection } from './rejection.ts'

const ROUTE_UNKNOWN: Rejection = Object.freeze({ rejected: 'route_unknown' })

/** Returns whether the gateway can apply the route only to requests that it forwards. A rewrite depends on the request. */
export function needsProxy({
  requestHeaders,
  policy,
}: Pick<CompiledRoute, 'requestHeaders'> & { readonly policy: Pick<PolicyRoute, 'websocket'> }): boolean {
  return requestHeaders !== undefined || policy.websocket
}

/**
 * Applies the differences between the modes to a decision. Pure. A route that the mode does not serve does not exist, so
 * the result is then `route_unknown` (404). The decision endpoint responds to OPTIONS, but not to reserved paths. It gets
 * no bodies, so it serves no path with `mcp.readBody`.
 */
export function applyMode(
  decision: Decision,
  request: { readonly method: string; readonly canonical: Pick<CanonicalRequest, 'path'> },
  mode: Mode,
  policies: Pick<CompiledPolicies, 'mcpRoutes'>,
): Decision {
  return isServed(decision, request, mode, policies) ? decision : denied(ROUTE_UNKNOWN, decision)
}

function isServed(
  { as, route, upstreamPath }: Decision,
  { method, canonical }: Parameters<typeof applyMode>[1],
  mode: Mode,
  { mcpRoutes }: Parameters<typeof applyMode>[3],
): boolean {
  if (as === 'gateway') return mode === 'proxy' || method === 'OPTIONS'
  if (mode === 'decision' && mcpRoutes(method, canonical.path) !== undefined) return false
  if (route === undefined) return true
  if (mode === 'proxy') return route.policy.upstream !== undefined
  return !needsProxy(route) && (upstreamPath === undefined || upstreamPath === canonical.path)
}
