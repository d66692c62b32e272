import { Readable } from 'node:stream'

/** Source of a request body: the request of the client, or a body that the gateway has already read. */
export type BodySource = Readable & {
  /** Whether the gateway has received the complete body. */
  readonly complete: boolean
}

/** Returns a source with the bytes of a body that the gateway has already read. */
export function replayBody(bytes: Buffer): BodySource {
  return Object.assign(Readable.from([bytes], { objectMode: false }), { complete: true })
}

export type RequestBodyOptions = {
  readonly limitBytes: number
  readonly onOverflow: () => void
  /** Called for every chunk within the limit. */
  readonly onProgress: () => void
}

/**
 * Streams a client's body to an upstream, with backpressure, and counts its bytes. The stream is separate from the
 * client's connection. After an aborted upstream request, the client can therefore still get a response.
 */
export class RequestBody extends Readable {
  readonly #source: BodySource
  readonly #options: RequestBodyOptions
  #started = false
  #waiting = false
  bytes = 0

  constructor(source: BodySource, options: RequestBodyOptions) {
    super({ highWaterMark: 64 * 1024 })
    this.#source = source
    this.#options = options
  }

  /** Whether the body is incomplete and the upstream connection can take more data. */
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
