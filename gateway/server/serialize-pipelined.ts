import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Maximum number of pipelined requests that wait on a connection. If a connection has more waiting requests, the
 * gateway responds to the requests that already wait, and then closes the connection.
 */
const MAX_WAITING = 100

/** The waiting responses of a connection, in order, without the current response. */
const waiting = new WeakMap<Socket, ServerResponse[]>()
/** Connections that the gateway no longer reads. */
const stopped = new WeakSet<Socket>()

/**
 * Starts a request after all earlier requests on its connection have a response. Otherwise a later write request could
 * overtake an earlier write request. If the client or the gateway closes the connection first, the request never
 * starts, because its response could not be delivered.
 * Source: RFC 9112 sections 9.3.2 and 9.6.
 */
export function serializePipelined(
  request: IncomingMessage,
  response: ServerResponse,
  start: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const { socket } = request
  // Node continues to parse after the final response of a connection. Requests after the final response get a socket
  // that is already closed.
  const startOnOpen = (): void => {
    if (socket.writable) start(request, response)
  }
  // Node assigns the socket to one response at a time.
  if (response.socket !== null) {
    startOnOpen()
    return
  }
  const queue = waiting.get(socket) ?? []
  if (queue.length >= MAX_WAITING) {
    // The gateway drops this request and stops reading the connection.
    if (!stopped.has(socket)) {
      stopped.add(socket)
      stopReading(socket)
      response.once('socket', (own: Socket) => own.destroySoon())
    }
    return
  }
  queue.push(response)
  waiting.set(socket, queue)
  response.once('socket', () => {
    queue.shift()
    // Node is still assigning the socket to the response at this point.
    process.nextTick(startOnOpen)
  })
}

/**
 * Returns the waiting response of the last completely received request of a connection. Returns undefined without such
 * a request.
 */
export function lastCompleteWaiting(socket: Socket): ServerResponse | undefined {
  return waiting.get(socket)?.findLast(({ req }) => req.complete)
}

/**
 * Stops reading permanently. A pause would not be enough, because Node resumes a socket after a complete request and
 * after a response.
 */
function stopReading(socket: Socket): void {
  socket.on('resume', () => socket.pause())
  socket.pause()
}
