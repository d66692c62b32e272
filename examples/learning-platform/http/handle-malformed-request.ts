import type { Socket } from 'node:net'

const INVALID = { status: '400 Bad Request', description: 'The request is not valid HTTP/1.1.' }
const FAILURES: Readonly<Record<string, typeof INVALID>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    description: 'The request line and headers are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    description: 'The request did not arrive in time.',
  },
}

/** Responds to a request that Node.js rejects before the routes. Then closes the connection. */
export function handleMalformedRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (!socket.writable || socket.destroyed) return
  const { status, description } = FAILURES[error.code ?? ''] ?? INVALID
  const body = JSON.stringify({ error: 'invalid_request', error_description: description })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
}
