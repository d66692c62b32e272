import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { Decision, DecisionRequest } from '../../policy-engine/decide/decide.ts'
import { type Explanation, explainDecision } from '../../policy-engine/decide/explain-decision.ts'
import { readBrowserHeader } from '../../policy-engine/decide/preflight.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { allowsOrigin, type CorsRule } from '../../policy-engine/load/policy-route.ts'
import type { UpstreamEntry } from '../config/upstreams-file.ts'
import type { SimulatedRequest, Simulation, SimulationPolicies } from './simulate.ts'
import { withDefaults } from './upstream-settings.ts'

export type ExplainedSimulation = Simulation & {
  readonly simulated: SimulatedRequest
  readonly explanation: Explanation | undefined
  /** The most similar route, for a path without a route. */
  readonly nearest: PolicyRoute | undefined
  /** Set for a preflight, and for a route with `cors`. */
  readonly cors: ExplainedCors | undefined
  /** The header with the credential of the gateway that the upstream gets. */
  readonly credentialHeader: string | undefined
  /** Undefined when the configuration is unknown, and in the mode `decision`. */
  readonly upstreamSettings: UpstreamEntry | undefined
}

/** Explains a simulation. `explanation` is undefined when the request is malformed. */
export function explainSimulation(
  simulated: SimulatedRequest,
  simulation: Simulation,
  policies: SimulationPolicies,
): ExplainedSimulation {
  const { request, caller } = simulation
  const explanation =
    request === undefined
      ? undefined
      : explainDecision(simulation.decision, request, caller, policies.compiled)
  const nearest =
    simulation.decision.rejection?.rejected === 'route_unknown' &&
    simulation.decision.route === undefined &&
    request !== undefined
      ? nearestRoute(
          request.canonical.path,
          policies.compiled.routes.map(({ policy }) => policy),
        )
      : undefined
  const cors = request && explainCors(request, simulation.decision)
  const upstream = simulation.decision.route?.policy.upstream
  // The decision endpoint does not forward requests.
  const { credentialHeaders, upstreams } = simulated.mode === 'decision' ? {} : policies
  const credentialHeader = credentialHeaders?.get(upstream ?? '')
  const entry = upstreams?.[upstream ?? '']
  const upstreamSettings = entry && withDefaults(entry)
  return { ...simulation, simulated, explanation, nearest, cors, credentialHeader, upstreamSettings }
}

/**
 * Returns the identity headers of an allowed decision, which the ingress copies to the forwarded request. Empty in the
 * other mode. The value of an assertion is a signed JWT, which only the gateway can create.
 */
export function decisionHeaders({
  simulated,
  decision,
  caller,
}: ExplainedSimulation): readonly (readonly [name: string, value: string])[] {
  if (simulated.mode !== 'decision' || decision.as !== 'token' || caller === undefined) return []
  const { identityHeaders } = caller
  const headers = identityHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name, String(identityHeaders[at + 1])] as const] : [],
  )
  const isAsserted = decision.route?.policy.upstreamAuth === 'assertion'
  return isAsserted ? [...headers, ['x-auth-assertion', '(signed by the gateway)'] as const] : headers
}

type ExplainedCors = {
  readonly isPreflight: boolean
  /** Undefined when the request has no `Origin` header. */
  readonly origin: string | undefined
  readonly method: string
  readonly isAllowed: boolean
  /** The requested headers of a preflight that are not allowed. */
  readonly deniedHeaders: readonly string[]
  /** The `cors` of the route. Undefined for a preflight, because several routes can decide on a preflight. */
  readonly rule: CorsRule | undefined
}

/** Explains a preflight, and a request to a route with `cors`. @returns undefined for every other request. */
function explainCors(
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

/**
 * Finds the most similar route for a path without a match. Prefers a path with a small edit distance. Otherwise selects
 * the route that shares the most leading segments with the path, if these are at least half of its segments.
 * @param path canonical path of the request.
 */
function nearestRoute<R extends Pick<PolicyRoute, 'path'>>(
  path: string,
  routes: readonly R[],
): R | undefined {
  const segments = path.split('/')
  const filled = new Map<string, R>()
  for (const route of routes) {
    const candidate = fillTemplate(route.path, segments)
    if (!filled.has(candidate)) filled.set(candidate, route)
  }
  const near = suggest(path, filled.keys())
  if (near !== undefined) return filled.get(near)
  let best: R | undefined
  let bestShared = Math.ceil((segments.length - 1) / 2)
  for (const [candidate, route] of filled) {
    const shared = sharedSegments(candidate.split('/'), segments)
    if (shared > bestShared) [best, bestShared] = [route, shared]
  }
  return best
}

/** Replaces each parameter, and the wildcard, with the segments of the request at the same position. */
function fillTemplate(template: string, segments: readonly string[]): string {
  return template
    .split('/')
    .flatMap((segment, at) => {
      if (segment === '**') return segments.slice(at)
      return segment.startsWith('{') ? [segments[at] ?? segment] : [segment]
    })
    .join('/')
}

/** Counts the equal leading segments, including the empty segment before the first slash. */
function sharedSegments(a: readonly string[], b: readonly string[]): number {
  const difference = a.findIndex((segment, at) => segment !== b[at])
  return difference === -1 ? a.length : difference
}
