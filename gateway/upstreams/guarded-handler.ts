import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from './http1/dispatch.ts'

type Handler = DispatchHandler & {
  handlerFailed(error: unknown): void
}

/**
 * Limits the effect of an exception in the gateway's own code to one request. Otherwise the HTTP client would report
 * the exception as a failure of the upstream. As an uncaught exception, the exception would leave the request open
 * forever.
 */
export class GuardedHandler implements DispatchHandler {
  readonly #handler: Handler

  constructor(handler: Handler) {
    this.#handler = handler
  }

  onRequestStart(controller: DispatchController): void {
    try {
      this.#handler.onRequestStart(controller)
    } catch (error) {
      this.#handler.handlerFailed(error)
    }
  }

  onRequestUpgrade(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    try {
      this.#handler.onRequestUpgrade(controller, status, headers, socket)
    } catch (error) {
      socket.on('error', () => undefined).destroy()
      this.#handler.handlerFailed(error)
    }
  }

  onResponseStart(controller: DispatchController, status: number, headers: IncomingHttpHeaders): void {
    try {
      this.#handler.onResponseStart(controller, status, headers)
    } catch (error) {
      this.#handler.handlerFailed(error)
    }
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    try {
      this.#handler.onResponseData(controller, chunk)
    } catch (error) {
      this.#handler.handlerFailed(error)
    }
  }

  onResponseText(text: string): void {
    try {
      this.#handler.onResponseText(text)
    } catch (error) {
      this.#handler.handlerFailed(error)
    }
  }

  onResponseEnd(): void {
    try {
      this.#handler.onResponseEnd()
    } catch (error) {
      this.#handler.handlerFailed(error)
    }
  }

  onResponseError(controller: DispatchController, failure: Error): void {
    try {
      this.#handler.onResponseError(controller, failure)
    } catch (error) {
      this.#handler.handlerFailed(error)
    }
  }
}
