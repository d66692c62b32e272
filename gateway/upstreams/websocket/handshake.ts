import { hash } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { UpstreamError } from '../http1/upstream-error.ts'

/** Constant for `Sec-WebSocket-Accept`. RFC 6455 section 4.2.2. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** A valid `Sec-WebSocket-Key`: 16 bytes in base64. RFC 6455 section 4.1. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/

/**
 * Returns whether a request is a WebSocket handshake. A request with a body is handled as an ordinary request. A
 * pipelined request is also handled as an ordinary request while an earlier response is incomplete. The route decides
 * whether WebSockets are allowed.
 */
export function isWebsocketHandshake({ method, httpVersion, headers, socket }: IncomingMessage): boolean {
  const pendingResponse = (socket as { _httpMessage?: unknown })._httpMessage
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    (pendingResponse === undefined || pendingResponse === null)
  )
}

export function isWebsocketKey(key: string | undefined): key is string {
  return key !== undefined && KEY.test(key)
}

/** Returns whether a 101 response of an upstream accepts this WebSocket handshake. RFC 6455 section 4.1. */
export function acceptsWebsocket(headers: IncomingHttpHeaders, key: string): boolean {
  return (
    String(headers.upgrade).toLowerCase() === 'websocket' &&
    headers['sec-websocket-accept'] === hash('sha1', key + GUID, 'base64')
  )
}

/** Creates the error for a 101 response that does not accept the WebSocket handshake. RFC 6455 section 4.1. */
export function handshakeMismatch(): UpstreamError {
  return new UpstreamError('ERR_UPSTREAM_PROTOCOL', 'the 101 response does not match the WebSocket handshake')
}
