import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { HeaderSource } from '../../../policy-engine/match/find-header.ts'
import { type Found, findRoute } from '../../../policy-engine/match/find-route.ts'
import type { Route, Snapshot } from '../../snapshot/route.ts'

/**
 * Stage 2: the one route of a canonical path, or 404 and 405.
 * @returns the route; what OPTIONS answers with; `route_unknown` or `method_not_allowed`.
 */
export function matchRoute(
  method: string,
  path: string,
  snapshot: Pick<Snapshot, 'match'>,
  request: HeaderSource,
): Found<Route> | Refusal {
  return findRoute(method, path, snapshot, request)
}
