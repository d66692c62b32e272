import type { Duplex, Readable } from 'node:stream'
import { UpstreamError } from './upstream-error.ts'

export type RequestBodyWriterOptions = {
  readonly socket: Duplex
  readonly body: Readable
  /** Length of the body in bytes; `undefined`: chunked. */
  readonly contentLength: number | undefined
  readonly onFailure: (error: Error) => void
}

/**
 * Sends a request body with backpressure. Fails if the body is longer or shorter than its announced length. Never sends
 * more bytes than announced.
 */
export class RequestBodyWriter {
  done = false
  readonly #options: RequestBodyWriterOptions
  #sent = 0

  constructor(options: RequestBodyWriterOptions) {
    this.#options = options
    const { body, socket } = options
    body.on('data', this.#onData)
    body.on('end', this.#onEnd)
    body.on('error', this.#onError)
    socket.on('drain', this.#onDrain)
  }

  stop(): void {
    const { body, socket } = this.#options
    body.off('data', this.#onData)
    body.off('end', this.#onEnd)
    body.off('error', this.#onError)
    socket.off('drain', this.#onDrain)
  }

  readonly #onData = (chunk: Buffer): void => {
    const { socket, body, contentLength } = this.#options
    if (chunk.length === 0) return
    this.#sent += chunk.length
    let takesMore: boolean
    if (contentLength === undefined) {
      socket.cork()
      socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
      socket.write(chunk)
      takesMore = socket.write('\r\n', 'latin1')
      socket.uncork()
    } else {
      if (this.#sent > contentLength) {
        this.#fail()
        return
      }
      takesMore = socket.write(chunk)
    }
    if (!takesMore) body.pause()
  }

  readonly #onEnd = (): void => {
    const { socket, contentLength } = this.#options
    if (contentLength === undefined) socket.write('0\r\n\r\n', 'latin1')
    else if (this.#sent !== contentLength) {
      this.#fail()
      return
    }
    this.done = true
    this.stop()
  }

  readonly #onError = (error: Error): void => {
    this.stop()
    this.#options.onFailure(error)
  }

  readonly #onDrain = (): void => {
    this.#options.body.resume()
  }

  #fail(): void {
    this.stop()
    this.#options.onFailure(
      new UpstreamError(
        'ERR_UPSTREAM_UNFORWARDABLE',
        'the request cannot be forwarded: its body does not match its Content-Length',
      ),
    )
  }
}
