import type {
  CompiledPolicies,
  CompiledRoute,
  UnavailableRoute,
} from '../../policy-engine/decide/compile-policies.ts'
import { claimNamesOf } from '../../policy-engine/decide/compile-policies.ts'
import type { UnavailableMatch } from '../../policy-engine/decide/select-route.ts'
import { findFreePages } from '../../policy-engine/match/free-pages.ts'
import type { Match } from '../../policy-engine/match/route-table.ts'
import type { Route, Snapshot } from '../snapshot/route.ts'

/**
 * Returns the policies of a snapshot for a simulation, without compiling them again. Cost: one pass over the routes.
 * Built-in routes of the gateway do not match, as with `compilePolicies()`.
 */
export function snapshotPolicies(snapshot: Snapshot): CompiledPolicies {
  const routes = snapshot.routes.filter(isApi)
  return {
    routes,
    hash: snapshot.policyHash,
    claimNames: claimNamesOf(routes.map(({ policy }) => policy)),
    match(method, path, request) {
      const match = snapshot.match(method, path, request)
      return match.kind === 'route' ? toPolicyMatch(match, match.route) : match
    },
    routesAt: (path) =>
      new Map([...snapshot.routesAt(path)].map(([method, all]) => [method, all.filter(isApi)])),
    freePages: findFreePages(snapshot.routes.filter(isApiOrUnavailable).map(({ path }) => path)),
    mcpRoutes: (method, path) => snapshot.mcpRoutes(method, path)?.filter(isApiOrUnavailable),
  }
}

function toPolicyMatch<M extends { readonly kind: 'route' }>(
  match: M & { readonly params: Readonly<Record<string, string>> },
  route: Route,
): Match<CompiledRoute> | UnavailableMatch {
  if (route.kind === 'api') return { kind: 'route', route, params: match.params }
  return { kind: route.kind === 'unavailable' ? 'unavailable' : 'not_found' }
}

function isApi(route: Route): route is Extract<Route, { readonly kind: 'api' }> {
  return route.kind === 'api'
}

function isApiOrUnavailable(route: Route): route is Route & (CompiledRoute | UnavailableRoute) {
  return route.kind === 'api' || route.kind === 'unavailable'
}
