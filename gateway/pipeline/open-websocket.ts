import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { decideAccess } from '../../policy-engine/decide/check-access.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { UpgradedConnection } from '../server/upgraded-connection.ts'
import type { ProxyRoute } from '../snapshot/route.ts'
import { acceptsWebsocket, handshakeMismatch, isWebsocketKey } from '../upstreams/websocket/handshake.ts'
import { WebsocketSession } from '../upstreams/websocket/session.ts'
import type { SessionSlot } from '../upstreams/websocket/sessions.ts'
import type { ForwardableContext, RequestContext } from './request-context.ts'
import { shapeResponse } from './shape-response.ts'

/**
 * The client connection and the upstream connection of a WebSocket. The upstream has sent a 101 response, which is not
 * yet validated.
 */
export type WebsocketOpening = {
  readonly upgraded: UpgradedConnection
  readonly slot: SessionSlot
  readonly headers: IncomingHttpHeaders
  readonly socket: Duplex
}

const NO_HANDSHAKE: Rejection = {
  rejected: 'request_malformed',
  detail: 'This is not a valid WebSocket handshake: RFC 6455 section 4.1.',
}

/**
 * Reserves a session slot for the caller. Without a caller, or if its subject and client ID are unknown, reserves a
 * slot for the client address. Rejects an invalid handshake of the client.
 */
export function reserveSession(
  { request, caller, clientAddress, services }: RequestContext,
  upgraded: UpgradedConnection,
): SessionSlot | Rejection {
  if (upgraded.early || !isWebsocketKey(request.headers['sec-websocket-key'])) return NO_HANDSHAKE
  const who = caller === undefined ? undefined : (caller.subject ?? caller.clientId)
  // The key contains the issuer, because two issuers can use the same subject for different people.
  return services.sessions.reserve(
    caller === undefined || who === undefined
      ? `address ${clientAddress}`
      : `subject ${caller.issuer} ${who}`,
  )
}

/**
 * Validates the handshake of the upstream, switches the client connection to WebSocket, and connects the client with
 * the upstream. The session ends when a later validation of the token denies the caller.
 */
export function openWebsocket(
  context: ForwardableContext,
  route: ProxyRoute,
  opening: WebsocketOpening,
): void {
  const { response, caller, token, resource, services } = context
  const { upgraded, slot, headers, socket } = opening
  if (!isAccepted(context, route, opening)) return
  // This call comes before the removal of the listeners. After an exception in this call, the listeners still release
  // the slot and write the access log.
  const head = formatSwitch(shapeResponse(context, 101, headers))
  response.off('close', slot.release)
  response.removeAllListeners('close')
  const client = upgraded.take()
  client.write(head, 'latin1')
  const session = new WebsocketSession({
    client,
    upstream: socket,
    messageLimitBytes: route.bodyLimitBytes,
    idleTimeoutMs: route.idleTimeoutMs,
    onEnd: (end) => {
      slot.release()
      route.meter.sessionEnded(end.code)
      services.tracker.sessionEnded(context, end)
    },
  })
  services.tracker.becameSession(context)
  const hasAccess = (now: Caller): boolean =>
    decideAccess(context, now, route, services.nowMs() / 1_000)?.isAuditOnly !== false
  const identity =
    caller === undefined || token === undefined
      ? undefined
      : { token, issuers: resource.issuers, claims: route.claims, caller, hasAccess }
  slot.opened({ session, identity })
}

/**
 * Returns whether the upstream's handshake is valid and the client has sent no data before the response. Otherwise
 * destroys the upstream connection and rejects the request.
 */
function isAccepted(
  context: ForwardableContext,
  { upstream }: ProxyRoute,
  { headers, upgraded, socket }: WebsocketOpening,
): boolean {
  const { request, services } = context
  if (acceptsWebsocket(headers, request.headers['sec-websocket-key'] ?? '') && !upgraded.early) return true
  socket.on('error', () => undefined).destroy()
  if (upgraded.early) {
    services.responder.reject(context, NO_HANDSHAKE)
    return false
  }
  const error = handshakeMismatch()
  upstream.meter.failed('protocol')
  context.failureCode = error.code
  services.upstreamFailed(upstream.name, context.requestId, error)
  services.responder.reject(context, { rejected: 'upstream_broken' })
  return false
}

/** RFC 9110 section 15.2.2: a 101 response has no body, so the gateway drops `content-length`. */
function formatSwitch(headers: readonly string[]): string {
  let head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n'
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (headers[at] !== 'content-length') head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}
