import type { ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import { rawSocketOf } from '../../platform/net/raw-socket.ts'
import { resetSocket } from '../../platform/net/reset-socket.ts'

/**
 * Breaks an answer off so that nobody takes it for whole: by a reset, because for HTTP/1.0 a connection that ends in good
 * order is a body that is whole. Over TLS too: many clients do not miss the close_notify.
 */
export function resetClient(response: ServerResponse): void {
  const { socket } = response
  const raw = socket instanceof TLSSocket ? rawSocketOf(socket) : socket
  if (raw === null || raw === undefined) response.destroy()
  else resetSocket(raw)
}
