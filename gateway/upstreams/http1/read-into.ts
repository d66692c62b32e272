import type { OnReadOpts, Socket } from 'node:net'

/** Receives the bytes that a socket reads. The bytes are valid only during the call. */
export type Receiver = { receive(bytes: Buffer): void }

const READ_BYTES = 64 * 1024
/**
 * All sockets read into this buffer, one after the other. Each receiver must process the bytes before the receiver
 * returns.
 */
const SHARED = Buffer.allocUnsafeSlow(READ_BYTES)
const receiver = Symbol('receiver')
type Reading = Socket & { [receiver]?: Receiver }

/**
 * Option of `net.connect()` and `tls.connect()` that avoids a stream and a new buffer for each read. A socket with this
 * option emits no `data`. The receiver from `readInto()` gets the bytes of the socket.
 */
export const READ_SHARED: OnReadOpts = {
  buffer: () => SHARED,
  callback(this: Reading, size: number, bytes: Uint8Array): boolean {
    this[receiver]?.receive((bytes as Buffer).subarray(0, size))
    return true
  },
} as OnReadOpts

/** Sets the receiver of all further bytes of a socket. */
export function readInto(socket: Socket, to: Receiver): void {
  ;(socket as Reading)[receiver] = to
}
