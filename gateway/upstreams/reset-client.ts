import type { ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'

/**
 * Breaks an answer off so that nobody takes it for whole: by a reset, because for HTTP/1.0 a connection that ends in good
 * order is a body that is whole. Over TLS the missing close_notify says the same.
 */
export function resetClient(response: ServerResponse): void {
  const { socket } = response
  if (socket === null || socket instanceof TLSSocket) response.destroy()
  else socket.resetAndDestroy()
}
