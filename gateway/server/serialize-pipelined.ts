import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait behind an unanswered one; a connection with more ends after those. */
const MAX_WAITING = 100

/** What waits on a connection, in order; what is being answered is not among it. */
const waiting = new WeakMap<Socket, ServerResponse[]>()
/** Connections of which nothing more is read. */
const full = new WeakSet<Socket>()

/**
 * Starts a request when those before it on its connection are answered: of two that change something, the second must
 * not overtake the first. One whose connection ends before its turn, by either side, is never started: nobody would get
 * its answer.
 * Source: RFC 9112 sections 9.3.2 and 9.6.
 */
export function serializePipelined(
  request: IncomingMessage,
  response: ServerResponse,
  start: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const { socket } = request
  // Node parses on behind the answer that ended the connection, and gives what comes of it a connection that is over.
  const startOnOpen = (): void => {
    if (socket.writable) start(request, response)
  }
  // A response has the connection while it is its turn.
  if (response.socket !== null) {
    startOnOpen()
    return
  }
  const line = waiting.get(socket) ?? []
  if (line.length >= MAX_WAITING) {
    // What was read already waits for nothing, the rest is not read.
    if (!full.has(socket)) {
      full.add(socket)
      stopReading(socket)
      response.once('socket', (own: Socket) => own.destroySoon())
    }
    return
  }
  line.push(response)
  waiting.set(socket, line)
  response.once('socket', () => {
    line.shift()
    // The response is still being handed its connection.
    process.nextTick(startOnOpen)
  })
}

/** The last of the requests that wait on a connection which came whole; undefined: none of them did. */
export function lastCompleteWaiting(socket: Socket): ServerResponse | undefined {
  return waiting.get(socket)?.findLast(({ req }) => req.complete)
}

/** For good: Node goes on reading by itself when a request is whole and when an answer is out. */
function stopReading(socket: Socket): void {
  socket.on('resume', () => socket.pause())
  socket.pause()
}
