import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** An answer of the gateway's own. */
export type LocalReply = {
  readonly status: number
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  /** undefined: none, as with 204 and 304. */
  readonly body: string | undefined
}

/** A body of this many announced bytes is read away, and the connection lives on. */
const READ_AWAY_BYTES = 64 * 1024
/** Of a larger body this much is read away before the connection ends, so that the answer is not lost to a reset. */
const LINGER_BYTES = 1024 * 1024
const LINGER_MS = 2_000

const lingering = new WeakSet<ServerResponse>()
const readingAway = new WeakSet<Socket>()

/** Whether the answer is out whole, and only the rest of a body is being read away. */
export function isLingering(response: ServerResponse): boolean {
  return lingering.has(response)
}

/** Whether the last request on a connection has its answer, and the rest of its body is still to come. */
export function isDrainingBody(socket: Socket): boolean {
  return readingAway.has(socket)
}

/**
 * Sends an answer to a request whose body, if any, may be unread: the rest of it is never taken for the next request.
 * Small bodies are read away; else the connection ends after the answer.
 * @returns whether the connection ends.
 */
export function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  answer: LocalReply,
  options: { readonly closes: boolean },
): boolean {
  const unread = unreadBody(request)
  const closes = options.closes || unread === 'large' || unread === 'withheld'
  const headers = closes ? [...answer.headers, 'connection', 'close'] : [...answer.headers]
  response.writeHead(answer.status, headers)
  if (unread === 'small') {
    const { socket } = request
    readingAway.add(socket)
    request.once('end', () => readingAway.delete(socket))
  }
  if (unread !== 'large') {
    response.end(answer.body)
    return closes
  }
  if (answer.body !== undefined) response.write(answer.body)
  else response.flushHeaders()
  endBeforeBody(request, response)
  return true
}

/** `withheld`: the client waits for a go-ahead that it never got. RFC 9110 section 10.1.1. */
function unreadBody(request: IncomingMessage): 'none' | 'small' | 'large' | 'withheld' {
  if (request.complete) return 'none'
  const { headers } = request
  const chunked = headers['transfer-encoding'] !== undefined
  const bytes = Number(headers['content-length'] ?? 0)
  if (!chunked && bytes === 0) return 'none'
  if (headers.expect !== undefined) return 'withheld'
  return chunked || !(bytes <= READ_AWAY_BYTES) ? 'large' : 'small'
}

/**
 * Ends an answer that is whole before the request's body is, and with it the connection: what comes of the body is read
 * away for a while, because a connection that is closed with unread bytes is a reset, and takes the answer with it.
 */
export function endBeforeBody(request: IncomingMessage, response: ServerResponse): void {
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
