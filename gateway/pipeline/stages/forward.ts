import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { forward as forwardToUpstream } from '../../upstreams/forward.ts'
import type { ForwardRequest } from '../../upstreams/forward-request.ts'
import { replayBody } from '../../upstreams/request-body.ts'
import { toolFilterOf } from '../mcp-tool-filter.ts'
import { openWebsocket, reserveSession } from '../open-websocket.ts'
import type { ShapedContext } from '../request-context.ts'
import { startUpstreamSpan } from '../request-spans.ts'
import { endBeforeBody, sendContinue } from '../send-reply.ts'
import { authenticatesGateway, shapeResponse } from '../shape-response.ts'

const CREDENTIALS_REJECTED: Rejection = Object.freeze({ rejected: 'upstream_credentials_rejected' })

/**
 * Forwards the request to its upstream. Opens a WebSocket if the client requests a WebSocket and the route allows
 * WebSockets. Reads `route`, `canonical`, `body`, `upstreamPath`, `upstreamHeaders` and `upgraded`. Sets `forwarded`, whose
 * fields change until the response is complete.
 * @returns the rejection of a WebSocket: `request_malformed` (400), `sessions_exhausted` (429) or `overloaded` (503).
 *   Rejections that the upstream causes go to the responder later.
 */
export function forward(context: ShapedContext): Rejection | undefined {
  const { request, response, route, canonical, upgraded, services, span } = context
  const { upstream } = route
  const { responder, tracing } = services
  let onUpgrade: ForwardRequest['onUpgrade']
  if (route.kind === 'api' && route.websocket && upgraded !== undefined) {
    const slot = reserveSession(context, upgraded)
    if ('rejected' in slot) return slot
    response.once('close', slot.release)
    onUpgrade = (headers, socket) => openWebsocket(context, route, { upgraded, slot, headers, socket })
  }
  const body =
    canonical.headers.body === 'none'
      ? undefined
      : context.body === undefined
        ? request
        : replayBody(context.body)
  if (body === request) sendContinue(request, response)
  const rewriter = toolFilterOf(context)
  const upstreamHeaders =
    rewriter === undefined ? context.upstreamHeaders : withoutCodings(context.upstreamHeaders)
  context.forwarded = forwardToUpstream({
    upstream,
    method: context.method,
    target: upstream.basePath + context.upstreamPath + canonical.query,
    headers:
      span === undefined || tracing === undefined
        ? upstreamHeaders
        : startUpstreamSpan(context, { tracing, span, upstream: upstream.name }, upstreamHeaders),
    body,
    bodyLimitBytes: route.bodyLimitBytes,
    timeoutMs: route.timeoutMs,
    idleTimeoutMs: route.idleTimeoutMs,
    retries: route.kind === 'api' ? route.policy.retries : undefined,
    onUpgrade,
    eventStreams: services.eventStreams,
    rewriter,
    response,
    rejectionOf: (status) => (status === 401 ? rejectionOf401(context) : undefined),
    shape: (status, headers) => shapeResponse(context, status, headers),
    reject: (rejection) => responder.reject(context, rejection),
    endEarly: endBeforeBody,
    onBroken: (error) => responder.fail500(context, error),
    onFailure: (error) => services.upstreamFailed(upstream.name, context.requestId, error),
    tickMs: services.tickMs,
  })
  return undefined
}

/**
 * Renews the credential of the gateway. The client gets the 401 only if the upstream has received the credentials of the
 * client. Otherwise the client would discard a valid token, because of the challenge.
 */
function rejectionOf401(context: ShapedContext): Rejection | undefined {
  context.route.upstream.credential?.rejected()
  return authenticatesGateway(context) ? CREDENTIALS_REJECTED : undefined
}

/** Asks the upstream for a response without a content coding, which the gateway can read. */
function withoutCodings(headers: readonly string[]): string[] {
  const kept = headers.filter((_, at) => headers[at - (at % 2)]?.toLowerCase() !== 'accept-encoding')
  return [...kept, 'accept-encoding', 'identity']
}
