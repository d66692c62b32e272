import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait behind an unanswered one; a connection with more ends after those. */
const MAX_WAITING = 100

const waiting = new WeakMap<Socket, number>()

/**
 * Starts a request when those before it on its connection are answered: of two that change something, the second must
 * not overtake the first. One whose connection ends before its turn, by either side, is never started: nobody would get
 * its answer.
 * Source: RFC 9112 sections 9.3.2 and 9.6.
 */
export function inTurn(
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
  const ahead = waiting.get(socket) ?? 0
  if (ahead >= MAX_WAITING) {
    // What was read already waits for nothing, the rest is not read.
    socket.pause()
    response.once('socket', (own: Socket) => own.destroySoon())
    return
  }
  waiting.set(socket, ahead + 1)
  response.once('socket', () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
    // The response is still being handed its connection.
    process.nextTick(startOnOpen)
  })
}
