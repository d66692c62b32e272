import type { ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import { rawSocketOf } from '../../platform/net/raw-socket.ts'
import { resetSocket } from '../../platform/net/reset-socket.ts'

/**
 * Aborts a response with a TCP reset, so that the client cannot take it for complete. To an HTTP/1.0 client, a regular
 * end of the connection means the end of the body. TLS connections are reset too, because many clients ignore a missing
 * close_notify.
 */
export function resetClient(response: ServerResponse): void {
  const { socket } = response
  const raw = socket instanceof TLSSocket ? rawSocketOf(socket) : socket
  if (raw === null || raw === undefined) response.destroy()
  else resetSocket(raw)
}
