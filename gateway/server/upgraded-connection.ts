import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { http } from '../../platform/net/http.ts'

/** A client connection whose request offers to switch to WebSocket. */
export type UpgradedConnection = {
  /** Whether the client sent data before the response, which RFC 6455 section 4.1 forbids. */
  readonly early: boolean
  /**
   * Detaches the connection from its response object, and returns the connection. The gateway has sent no data on this
   * connection. The response object is unusable afterwards.
   */
  take(): Duplex
}

/** Maximum time between the FIN of the gateway and the FIN of the client. Milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000

/**
 * Creates a response object for an upgrade request, which Node delivers as a bare socket. Until the gateway accepts the
 * upgrade, the gateway can therefore respond as to any other request. A response closes the connection.
 */
export function acceptUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): { readonly response: ServerResponse; readonly upgraded: UpgradedConnection } {
  const response = new http.ServerResponse(request)
  response.shouldKeepAlive = false
  // The types require a `net.Socket`. `request.socket` is a `net.Socket` or a TLS socket.
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
    const deadline = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS)
    socket.once('close', () => clearTimeout(deadline))
  }
  // Without reads, the gateway would not detect that the client disconnects.
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
