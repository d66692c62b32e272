import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'

type Done = (error?: Error | null) => void

/**
 * A TLS connection whose received bytes pass a check before nghttp2 reads them. Emits `write` when nghttp2 writes frames.
 */
export class CheckedSocket extends Duplex {
  readonly #socket: TLSSocket

  /** @param check returns the bytes for nghttp2. */
  constructor(socket: TLSSocket, check: (chunk: Buffer) => readonly Buffer[]) {
    super()
    this.#socket = socket
    // Each stream can wait for `write`.
    this.setMaxListeners(0)
    socket.on('data', (chunk: Buffer) => {
      for (const part of check(chunk)) if (!this.push(part)) socket.pause()
    })
    socket.once('end', () => this.push(null))
    socket.once('close', () => this.destroy())
    socket.on('error', (error) => this.destroy(error))
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#socket.write(chunk, done)
    this.emit('write')
  }

  override _writev(parts: readonly { readonly chunk: Buffer }[], done: Done): void {
    this.#socket.cork()
    parts.forEach(({ chunk }, at) => {
      this.#socket.write(chunk, at === parts.length - 1 ? done : undefined)
    })
    this.#socket.uncork()
    this.emit('write')
  }

  override _final(done: Done): void {
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy()
    done(error)
  }
}
