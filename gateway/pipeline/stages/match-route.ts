import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { selectRoute } from '../../../policy-engine/decide/select-route.ts'
import { documentReply, optionsReply } from '../local-replies.ts'
import type { CanonicalContext, StageResult } from '../request-context.ts'

const POLICY_UNAVAILABLE: Rejection = Object.freeze({ rejected: 'policy_unavailable' })

/** The code in the access log for a route that the gateway cannot forward. */
const NO_UPSTREAM = 'ERR_NO_UPSTREAM'
const ROUTE_UNKNOWN: Rejection = Object.freeze({ rejected: 'route_unknown' })

/**
 * Finds the route that matches the canonical path and the request. Replies to OPTIONS, to preflights and to requests
 * for documents of the gateway. The request uses one snapshot of the policies.
 * Reads `method`, `canonical` and `request`. Sets `policyHeaders`, `route` and `params`.
 * @returns the local reply, or the rejection `route_unknown` (404), `method_not_allowed` (405) or
 * `policy_unavailable` (503).
 */
export function matchRoute(context: CanonicalContext): StageResult | Promise<StageResult> {
  const snapshot = context.services.snapshot()
  context.policyHeaders = snapshot.policyHeaders
  const selection = selectRoute(context.method, context.canonical, snapshot)
  if ('rejected' in selection) return selection
  const { route, params } = selection
  context.route = route
  context.params = params
  if (selection.kind === 'options') return optionsReply(context, selection)
  switch (selection.route.kind) {
    case 'api':
      return selection.route.upstream === undefined ? checkDecisionOnly(context) : undefined
    case 'document':
      return documentReply(context, selection.route.document(context.request.headers.accept))
    case 'unavailable':
      return POLICY_UNAVAILABLE
    default:
      return undefined
  }
}

/** Rejects a request to a route without an upstream, unless another server forwards or handles the request. */
function checkDecisionOnly(context: CanonicalContext): Rejection | undefined {
  if (!context.services.forwards) return undefined
  context.failureCode = NO_UPSTREAM
  return ROUTE_UNKNOWN
}
