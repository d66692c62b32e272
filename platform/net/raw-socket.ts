import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Returns the TCP connection below TLS, from a private field of Node. */
export function rawSocketOf(socket: TLSSocket): Socket | undefined {
  return (socket as TLSSocket & { readonly _parent?: Socket })._parent
}
