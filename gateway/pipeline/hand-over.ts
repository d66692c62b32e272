import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { NOT_DECIDABLE } from './decision-endpoint.ts'
import type { ShapedContext } from './request-context.ts'
import { traced } from './request-spans.ts'

/**
 * Gives an allowed request to the other server of this process.
 * @returns a rejection if the other server must not handle the request.
 */
export type HandOver = (context: ShapedContext) => Rejection | undefined

/**
 * Creates the last stage in a server of another framework. The stage rejects routes that only the proxy can apply: routes
 * of the authorization server, and routes with a rewrite or WebSockets.
 * Reads `route`, `canonical` and `upstreamPath`. Sets `decision` to undefined for these routes.
 * @returns the stage, with the rejection `route_unknown` (404) or a rejection of the other server.
 */
export function createHandOver(handOver: HandOver) {
  return (context: ShapedContext): Rejection | undefined => {
    const { route, canonical } = context
    if (route.kind === 'api' && !route.websocket && context.upstreamPath === canonical.path)
      return traced(context, () => handOver(context)) // the handlers of the other server can send commands to a store
    context.decision = undefined
    return NOT_DECIDABLE
  }
}
