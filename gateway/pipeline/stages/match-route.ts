import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import { type Found, findRoute } from '../../../policy-engine/decide/select-route.ts'
import type { HeaderSource } from '../../../policy-engine/match/find-header.ts'
import type { Route, Snapshot } from '../../snapshot/route.ts'

/**
 * Stage 2: matches the one route of a canonical path.
 * Reads the method, the canonical path, the headers and the route table of the snapshot.
 * @returns the route and its path parameters, or the methods for a response to OPTIONS; otherwise the refusal
 * `route_unknown` (404) or `method_not_allowed` (405).
 */
export function matchRoute(
  method: string,
  path: string,
  snapshot: Pick<Snapshot, 'match'>,
  request: HeaderSource,
): Found<Route> | Refusal {
  return findRoute(method, path, snapshot, request)
}
