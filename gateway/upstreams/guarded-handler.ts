import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'

type Controller = Dispatcher.DispatchController
type Handler = Required<
  Pick<
    Dispatcher.DispatchHandler,
    | 'onRequestStart'
    | 'onRequestUpgrade'
    | 'onResponseStart'
    | 'onResponseData'
    | 'onResponseEnd'
    | 'onResponseError'
  >
> & {
  /** Ends the request that the exception belongs to. */
  broke(error: unknown): void
}

/**
 * Keeps an exception of ours with the request it belongs to. The HTTP client would take it for a failure of the upstream, or let
 * it go to the process while the request waits for ever.
 */
export class GuardedHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Handler

  constructor(handler: Handler) {
    this.#handler = handler
  }

  onRequestStart(controller: Controller, context: unknown): void {
    try {
      this.#handler.onRequestStart(controller, context)
    } catch (error) {
      this.#handler.broke(error)
    }
  }

  onRequestUpgrade(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    try {
      this.#handler.onRequestUpgrade(controller, status, headers, socket)
    } catch (error) {
      socket.on('error', () => undefined).destroy()
      this.#handler.broke(error)
    }
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    try {
      this.#handler.onResponseStart(controller, status, headers)
    } catch (error) {
      this.#handler.broke(error)
    }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    try {
      this.#handler.onResponseData(controller, chunk)
    } catch (error) {
      this.#handler.broke(error)
    }
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    try {
      this.#handler.onResponseEnd(controller, trailers)
    } catch (error) {
      this.#handler.broke(error)
    }
  }

  onResponseError(controller: Controller, failure: Error): void {
    try {
      this.#handler.onResponseError(controller, failure)
    } catch (error) {
      this.#handler.broke(error)
    }
  }
}
