import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex, Readable } from 'node:stream'

export type OutgoingRequest = {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Readable | undefined
  /** Longest stall inside the response. Milliseconds. */
  readonly idleTimeoutMs: number
  /** Whether the request is a WebSocket handshake. */
  readonly upgrade: boolean
}

/**
 * Callbacks for one request. The last callback is `onResponseEnd`, `onResponseText`, `onRequestUpgrade`,
 * `onResponseError` or `handlerFailed`. After `abort()`, no callback follows.
 */
export type DispatchHandler = {
  /** Called for the final response and for each interim response. */
  onResponseStart(controller: DispatchController, status: number, headers: IncomingHttpHeaders): void
  /** Part of the body; the handler may keep the chunk. */
  onResponseData(controller: DispatchController, chunk: Buffer): void
  /** The complete body of a small response, as Latin-1. This is the last call. */
  onResponseText(text: string): void
  onResponseEnd(): void
  onResponseError(controller: DispatchController, error: Error): void
  onRequestUpgrade(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void
  /** Called when another callback throws. The exchange is over, and its connection is closed. Must not throw. */
  handlerFailed(error: unknown): void
}

export type DispatchController = {
  pause(): void
  resume(): void
  /** Ends the exchange and closes its connection. The handler gets no further calls. */
  abort(): void
}

/** Methods of a connection that its current dispatch calls. */
type DispatchConnection = { pause(): void; resume(): void; drop(): void }

/** One request and its response. A dispatch starts before the request has a connection. */
export class Dispatch implements DispatchController {
  readonly request: OutgoingRequest
  readonly handler: DispatchHandler
  readonly head: string
  /** Length of the request body in bytes; `undefined`: chunked. */
  readonly contentLength: number | undefined
  /** Set when the request was aborted, or when the handler has got its last call. */
  over = false
  connection: DispatchConnection | undefined

  constructor(
    request: OutgoingRequest,
    handler: DispatchHandler,
    { text, contentLength }: { readonly text: string; readonly contentLength: number | undefined },
  ) {
    this.request = request
    this.handler = handler
    this.head = text
    this.contentLength = contentLength
  }

  pause(): void {
    if (!this.over) this.connection?.pause()
  }

  resume(): void {
    if (!this.over) this.connection?.resume()
  }

  abort(): void {
    if (this.over) return
    this.over = true
    this.connection?.drop()
  }

  /** Reports an error to the handler, unless the dispatch is already over. */
  fail(error: Error): void {
    if (this.over) return
    this.over = true
    try {
      this.handler.onResponseError(this, error)
    } catch (thrown) {
      this.handler.handlerFailed(thrown)
    }
  }
}
