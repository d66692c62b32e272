import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { http } from '../../platform/net/http.ts'

/** A connection that may become a WebSocket. */
export type UpgradedConnection = {
  /** The client has sent something before it got an answer. RFC 6455 section 4.1: it must not. */
  readonly early: boolean
  /** Hands over the connection. The response is over then, without an answer. */
  take(): Duplex
}

/** A client that was told that its connection ends has this long to end its side of it. Milliseconds. */
const LAST_WORDS_MS = 2_000

/**
 * Makes a response for a request that Node took out of its own hands because it asks for another protocol, so that it is
 * answered like any other as long as it is not granted. The connection ends with such an answer.
 */
export function acceptUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): { readonly response: ServerResponse; readonly upgraded: UpgradedConnection } {
  const response = new http.ServerResponse(request)
  response.shouldKeepAlive = false
  // Node's own types want a net.Socket; what comes here is one, or a TLS one.
  response.assignSocket(request.socket)
  let early = head.length > 0
  const onData = (): void => {
    early = true
    socket.pause()
  }
  const onDrain = (): void => void response.emit('drain')
  const onFinish = (): void => {
    socket.end()
    socket.resume()
    const deadline = setTimeout(() => socket.destroy(), LAST_WORDS_MS)
    socket.once('close', () => clearTimeout(deadline))
  }
  // Read, so that it is noticed when the client leaves.
  socket.on('data', onData).on('drain', onDrain)
  socket.on('error', () => undefined)
  socket.once('end', () => {
    if (!response.headersSent) socket.destroy()
  })
  response.once('finish', onFinish)
  return {
    response,
    upgraded: {
      get early() {
        return early
      },
      take() {
        socket.off('data', onData).off('drain', onDrain).removeAllListeners('end')
        response.off('finish', onFinish)
        response.detachSocket(request.socket)
        return socket
      },
    },
  }
}
