import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { HTTP2 } from '../../policy-engine/match/clean-headers.ts'

export type LocalReply = {
  readonly status: number
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  /** undefined for responses without a body, such as 204 and 304. */
  readonly body: string | Buffer | undefined
}

export type TextReply = LocalReply & { readonly body: string | undefined }

/** Maximum announced length of an unread body that the gateway drains to keep the connection open. */
const DRAIN_LIMIT_BYTES = 64 * 1024
/**
 * Maximum number of bytes that the gateway drains from a larger body before the connection closes. Otherwise a reset
 * could discard the response.
 */
const LINGER_BYTES = 1024 * 1024
const LINGER_MS = 2_000

const lingering = new WeakSet<ServerResponse>()
const drainingBodies = new WeakSet<Socket>()

/** Returns whether the response is completely written and only the rest of the request body is being drained. */
export function isLingering(response: ServerResponse): boolean {
  return lingering.has(response)
}

/**
 * Returns whether the last request on a connection already has a response, while the gateway still drains the request
 * body.
 */
export function isDrainingBody(socket: Socket): boolean {
  return drainingBodies.has(socket)
}

/**
 * Sends a local reply to a request whose body may be unread. The gateway never parses the rest of the body as the next
 * request. The gateway drains a small body. If the body is large or withheld, the gateway closes the connection after
 * the response.
 * @returns whether the connection closes.
 */
export function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: LocalReply,
  options: { readonly closes: boolean },
): boolean {
  const unread = isHttp2(request) ? 'none' : unreadBody(request, reply.status)
  const closes = options.closes || unread === 'large' || unread === 'withheld'
  const headers = closes ? [...reply.headers, 'connection', 'close'] : [...reply.headers]
  response.writeHead(reply.status, headers)
  if (unread === 'small') {
    const { socket } = request
    drainingBodies.add(socket)
    request.once('end', () => drainingBodies.delete(socket))
  }
  if (unread !== 'large') {
    response.end(reply.body)
    return closes
  }
  if (reply.body !== undefined) response.write(reply.body)
  else response.flushHeaders()
  endBeforeBody(request, response)
  return true
}

/** In HTTP/2, each request has its own stream. After the response, the gateway resets a stream with an unread body. */
export function isHttp2({ httpVersion }: Pick<IncomingMessage, 'httpVersion'>): boolean {
  return httpVersion === HTTP2
}

/**
 * Sends the 100 response if the client waits for this response. HTTP/1.0 has no interim responses. The gateway does not
 * forward the `Expect` header.
 * Source: RFC 9110 section 10.1.1.
 */
export function sendContinue({ httpVersion, headers }: IncomingMessage, response: ServerResponse): void {
  if (httpVersion !== '1.0' && headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
}

/**
 * Returns the kind of the unread body. `withheld`: the client waits for a 100 response that the gateway did not send.
 * RFC 9110 section 10.1.1. After 408, the gateway does not wait for a small body either. RFC 9110 section 15.5.9.
 */
function unreadBody(request: IncomingMessage, status: number): 'none' | 'small' | 'large' | 'withheld' {
  if (request.complete) return 'none'
  const { headers } = request
  const chunked = headers['transfer-encoding'] !== undefined
  const bytes = Number(headers['content-length'] ?? 0)
  if (!chunked && bytes === 0) return 'none'
  if (headers.expect !== undefined) return 'withheld'
  return chunked || status === 408 || !(bytes <= DRAIN_LIMIT_BYTES) ? 'large' : 'small'
}

/**
 * Ends a response that is complete before the request body, and then closes the connection. Before the close, the
 * gateway drains the body for a limited time. Closing a connection with unread bytes sends a reset, which can discard
 * the response.
 */
export function endBeforeBody(request: IncomingMessage, response: ServerResponse): void {
  if (isHttp2(request)) {
    response.end()
    return
  }
  lingering.add(response)
  let bytes = 0
  const end = (): void => {
    clearTimeout(timer)
    request.off('data', count).off('end', end)
    request.pause()
    response.end()
  }
  const count = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > LINGER_BYTES) end()
  }
  const timer = setTimeout(end, LINGER_MS)
  response.once('close', () => clearTimeout(timer))
  request.on('data', count).on('end', end).resume()
}
