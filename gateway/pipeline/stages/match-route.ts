import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { selectRoute } from '../../../policy-engine/decide/select-route.ts'
import type { Resource } from '../../../policy-engine/match/resources.ts'
import type { Snapshot } from '../../snapshot/route.ts'
import { documentReply, optionsReply } from '../local-replies.ts'
import type { CanonicalContext, StageResult } from '../request-context.ts'

const POLICY_UNAVAILABLE: Rejection = Object.freeze({ rejected: 'policy_unavailable' })

/** The code in the access log for a route that the gateway cannot forward. */
const NO_UPSTREAM = 'ERR_NO_UPSTREAM'
const ROUTE_UNKNOWN: Rejection = Object.freeze({ rejected: 'route_unknown' })

/**
 * Finds the route that matches the canonical path and the request. Replies to OPTIONS, to preflights and to requests
 * for documents of the gateway. The request uses one snapshot of the policies.
 * Reads `method`, `canonical` and `request`. Sets `policyHeaders`, `route` and `params`, and `resource` for a challenge.
 * @returns the local reply, or a rejection of `selectRoute()`.
 */
export function matchRoute(context: CanonicalContext): StageResult | Promise<StageResult> {
  const snapshot = context.services.snapshot()
  context.policyHeaders = snapshot.policyHeaders
  const selection = selectRoute(context.method, context.canonical, snapshot)
  if ('rejected' in selection) {
    if (selection.rejected === 'token_missing') context.resource = resourceOf(context, snapshot)
    return selection
  }
  const { route, params } = selection
  context.route = route
  context.params = params
  if (selection.kind === 'options') return optionsReply(context, selection)
  switch (selection.route.kind) {
    case 'api':
      return selection.route.upstream === undefined ? checkDecisionOnly(context) : undefined
    case 'document':
      return documentReply(context, selection.route.document(context.request.headers.accept, params))
    case 'unavailable':
      return POLICY_UNAVAILABLE
    default:
      return undefined
  }
}

/** Returns the resource for the challenge to a client of an older MCP revision, whose request matches no route. */
function resourceOf(
  { method, canonical: { path }, resource }: CanonicalContext,
  snapshot: Snapshot,
): Resource {
  const routes = snapshot.routesAt(path).get(method) ?? []
  return routes.find((route) => route.kind === 'api')?.resourceOf(path) ?? resource
}

/** Rejects a request to a route without an upstream, unless another server forwards or handles the request. */
function checkDecisionOnly(context: CanonicalContext): Rejection | undefined {
  if (!context.services.forwards) return undefined
  context.failureCode = NO_UPSTREAM
  return ROUTE_UNKNOWN
}
