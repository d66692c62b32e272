import type { OnReadOpts, Socket } from 'node:net'

/** Takes what a socket reads. The bytes are valid during the call only. */
export type Receiver = { receive(bytes: Buffer): void }

const READ_BYTES = 64 * 1024
/** All sockets read into this one, one after the other: each receiver is done with it before the next read. */
const SHARED = Buffer.allocUnsafeSlow(READ_BYTES)
const receiver = Symbol('receiver')
type Reading = Socket & { [receiver]?: Receiver }

/**
 * The option of `net.connect()` and `tls.connect()` for sockets that are read without a stream and without a new buffer
 * for each read. Such a socket emits no `data`; `readInto()` says who gets it.
 */
export const READ_SHARED: OnReadOpts = {
  buffer: () => SHARED,
  callback(this: Reading, size: number, bytes: Uint8Array): boolean {
    this[receiver]?.receive((bytes as Buffer).subarray(0, size))
    return true
  },
} as OnReadOpts

/** Gives what a socket reads from now on to `to`. */
export function readInto(socket: Socket, to: Receiver): void {
  ;(socket as Reading)[receiver] = to
}
