import type { Socket } from 'node:net'

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Responds to bytes that Node.js cannot parse as HTTP. Then closes the connection. */
export function handleMalformedRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || socket.destroyed) return
  const status = STATUS[error.code ?? ''] ?? '400 Bad Request'
  const body = '{"error":"invalid_request","error_description":"The request is malformed."}'
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
}
