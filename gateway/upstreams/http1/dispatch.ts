import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { Connection } from './connection.ts'

/** A request, as it goes to an upstream. */
export type OutgoingRequest = {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: Readable | undefined
  /** Longest silence in the middle of the answer. Milliseconds. */
  readonly idleTimeoutMs: number
  /** Asks for a WebSocket. */
  readonly upgrade: boolean
}

/**
 * Hears what becomes of a request. First `onRequestStart`, last one of `onResponseEnd`, `onResponseText`,
 * `onRequestUpgrade` and `onResponseError`; nothing after `abort()`.
 */
export type DispatchHandler = {
  /** The request waits for a connection. */
  onRequestStart(controller: DispatchController): void
  /** Interim answers too, each on its own. */
  onResponseStart(controller: DispatchController, status: number, headers: IncomingHttpHeaders): void
  /** Part of the body; the handler may keep it. */
  onResponseData(controller: DispatchController, chunk: Buffer): void
  /** The whole of a small body, as Latin-1. Nothing comes after it. */
  onResponseText(text: string): void
  onResponseEnd(): void
  onResponseError(controller: DispatchController, error: Error): void
  onRequestUpgrade(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void
}

export type DispatchController = {
  /** Takes nothing more from the upstream for now. */
  pause(): void
  resume(): void
  /** Ends the exchange, and the connection that it is on. The handler hears nothing more. */
  abort(): void
}

/** One request and its answer, from before there is a connection to when both are over. */
export class Dispatch implements DispatchController {
  readonly request: OutgoingRequest
  readonly handler: DispatchHandler
  readonly head: string
  /** Of the request's body; undefined: it goes in chunks. */
  readonly contentLength: number | undefined
  /** Nobody wants to hear of it any more, or everything is said. */
  over = false
  connection: Connection | undefined

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

  /** Tells the handler why there is no whole answer, unless it has heard the last already. */
  fail(error: Error): void {
    if (this.over) return
    this.over = true
    this.handler.onResponseError(this, error)
  }
}
