import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import type { UpgradedConnection } from '../server/upgraded-connection.ts'
import type { ApiRoute } from '../snapshot/route.ts'
import { acceptsWebsocket, isWebsocketKey } from '../upstreams/websocket/handshake.ts'
import { type SessionEnd, WebsocketSession } from '../upstreams/websocket/session.ts'
import type { SessionPlace, WebsocketSessions } from '../upstreams/websocket/sessions.ts'
import type { RequestContext } from './request-context.ts'

/** Both ends of a WebSocket connection after the upstream has accepted the handshake. */
export type WebsocketOpening = {
  readonly upgraded: UpgradedConnection
  readonly place: SessionPlace
  readonly answer: IncomingHttpHeaders
  /** The connection to the upstream. */
  readonly socket: Duplex
}

const NO_HANDSHAKE: Refusal = {
  refused: 'request_malformed',
  detail: 'This is not the beginning of a WebSocket: RFC 6455 section 4.1.',
}

/** Reserves a session slot for this caller or, without a token, for this client address. */
export function enterSession(
  { request, caller, clientAddress }: RequestContext,
  upgraded: UpgradedConnection,
  sessions: Pick<WebsocketSessions, 'enter'>,
): SessionPlace | Refusal {
  if (upgraded.early || !isWebsocketKey(request.headers['sec-websocket-key'])) return NO_HANDSHAKE
  const who = caller === undefined ? undefined : (caller.subject ?? caller.clientId)
  // The key contains the issuer, because two issuers can use the same subject for different people.
  return sessions.enter(
    caller === undefined || who === undefined
      ? `address ${clientAddress}`
      : `subject ${caller.issuer} ${who}`,
  )
}

/**
 * Validates the upstream's handshake, and destroys the upstream connection if the handshake failed.
 * @returns the refusal; undefined for a valid handshake.
 */
export function refuseHandshake(
  request: IncomingMessage,
  { answer, upgraded, socket }: WebsocketOpening,
): Refusal | undefined {
  if (acceptsWebsocket(answer, request.headers['sec-websocket-key'] ?? '') && !upgraded.early)
    return undefined
  socket.on('error', () => undefined).destroy()
  return upgraded.early ? NO_HANDSHAKE : { refused: 'upstream_broken' }
}

/** Sends the 101 response to the client and connects both ends. */
export function startSession(
  { upgraded, socket }: WebsocketOpening,
  options: {
    readonly headers: readonly string[]
    readonly route: ApiRoute
    readonly onEnd: (end: SessionEnd) => void
  },
): WebsocketSession {
  const client = upgraded.take()
  client.write(formatSwitch(options.headers), 'latin1')
  return new WebsocketSession({
    client,
    upstream: socket,
    messageLimitBytes: options.route.bodyLimitBytes,
    idleTimeoutMs: options.route.idleTimeoutMs,
    onEnd: options.onEnd,
  })
}

/** RFC 9110 section 15.2.2: a 101 response has no body, so `content-length` is dropped. */
function formatSwitch(headers: readonly string[]): string {
  let head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n'
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (headers[at] !== 'content-length') head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}
