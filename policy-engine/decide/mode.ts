import type { Mode } from '../format/policy-test.ts'
import type { PolicyRoute } from '../load/policy-route.ts'
import type { CanonicalRequest } from '../match/canonical-request.ts'
import type { CompiledRoute } from './compile-policies.ts'
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
 * the result is then `route_unknown` (404). The decision endpoint responds to OPTIONS, but not to reserved paths.
 */
export function applyMode(
  decision: Decision,
  request: { readonly method: string; readonly canonical: Pick<CanonicalRequest, 'path'> },
  mode: Mode,
): Decision {
  return isServed(decision, request, mode) ? decision : denied(ROUTE_UNKNOWN, decision)
}

function isServed(
  { as, route, upstreamPath }: Decision,
  { method, canonical }: Parameters<typeof applyMode>[1],
  mode: Mode,
): boolean {
  if (as === 'gateway') return mode === 'proxy' || method === 'OPTIONS'
  if (route === undefined) return true
  if (mode === 'proxy') return route.policy.upstream !== undefined
  return !needsProxy(route) && (upstreamPath === undefined || upstreamPath === canonical.path)
}
