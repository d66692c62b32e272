import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** The connection beneath TLS, which Node keeps to itself. */
export function rawSocketOf(socket: TLSSocket): Socket | undefined {
  return (socket as TLSSocket & { readonly _parent?: Socket })._parent
}
