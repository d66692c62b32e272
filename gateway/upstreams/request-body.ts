import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/** How long a body may be, and who hears about its way. */
export type RequestBodyOptions = {
  readonly limitBytes: number
  /** Called once when the client sends more than the limit. */
  readonly onOverflow: () => void
  /** Called on every piece. */
  readonly onProgress: () => void
}

/**
 * A client's body on its way to an upstream: with back-pressure, counted, and apart from the client's connection,
 * so that giving up on the upstream leaves the client there to be answered.
 */
export class RequestBody extends Readable {
  readonly #source: IncomingMessage
  readonly #options: RequestBodyOptions
  #started = false
  #waiting = false
  bytes = 0

  constructor(source: IncomingMessage, options: RequestBodyOptions) {
    super({ highWaterMark: 64 * 1024 })
    this.#source = source
    this.#options = options
  }

  /** The client has more to send, and nothing here keeps it from sending. */
  get waitsForClient(): boolean {
    return this.#waiting && !this.#source.complete
  }

  override _read(): void {
    this.#waiting = true
    if (!this.#started) {
      this.#started = true
      this.#source.on('data', this.#onData)
      this.#source.on('end', this.#onEnd)
    }
    this.#source.resume()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.off('data', this.#onData)
    this.#source.off('end', this.#onEnd)
    this.#source.pause()
    done(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.bytes += chunk.length
    if (this.bytes > this.#options.limitBytes) {
      this.#source.pause()
      this.#options.onOverflow()
      return
    }
    this.#options.onProgress()
    if (this.push(chunk)) return
    this.#waiting = false
    this.#source.pause()
  }

  readonly #onEnd = (): void => {
    this.push(null)
  }
}
