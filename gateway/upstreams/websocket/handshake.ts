import { hash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** RFC 6455 section 4.2.2. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** Sixteen bytes in base64. RFC 6455 section 4.1. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/

/**
 * Whether a request asks for a WebSocket, and for nothing else: a body, or a request that is still unanswered in front of
 * it, and it is a request like any other. The route decides whether it gets one.
 */
export function asksForWebsocket({ method, httpVersion, headers, socket }: IncomingMessage): boolean {
  const answering = (socket as { _httpMessage?: unknown })._httpMessage
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    (answering === undefined || answering === null)
  )
}

/** Whether a client's `Sec-WebSocket-Key` is one. */
export function isWebsocketKey(key: string | undefined): key is string {
  return key !== undefined && KEY.test(key)
}

/** Whether an upstream has understood what it agreed to. RFC 6455 section 4.1. */
export function acceptsWebsocket(headers: IncomingHttpHeaders, key: string): boolean {
  return (
    String(headers.upgrade).toLowerCase() === 'websocket' &&
    headers['sec-websocket-accept'] === hash('sha1', key + GUID, 'base64')
  )
}
