import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Refusal } from '../refusal.ts'
import type { Upstream } from './pool.ts'
import { RequestBody } from './request-body.ts'
import { type UpstreamFailureReason, upstreamFailure } from './upstream-failure.ts'

export type ForwardRequest = {
  readonly upstream: Upstream
  readonly method: string
  /** Canonical path and query. */
  readonly target: string
  /** Name, value, name, value. */
  readonly headers: string[]
  /** Where the body comes from; undefined when there is none. */
  readonly body: IncomingMessage | undefined
  readonly bodyLimitBytes: number
  /** From now to the first byte of the answer; a body that is still coming in extends it. Milliseconds. */
  readonly timeoutMs: number
  readonly response: ServerResponse
  /** Turns the upstream's headers into the client's. */
  readonly shape: (status: number, headers: IncomingHttpHeaders) => readonly string[]
  /** Called once at most, when nothing was sent to the client yet. */
  readonly refuse: (refusal: Refusal) => void
  /** The exact reason why the upstream gave no whole answer. */
  readonly onFailure: (error: unknown) => void
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
}

/** What became of a forwarded request, for logs and metrics. */
export type ForwardResult = {
  /** Status of the upstream; 0 until it answered. */
  status: number
  /** From dispatch to the first byte of the answer. Milliseconds. */
  durationMs: number
  failure: UpstreamFailureReason | undefined
}

/**
 * Sends a request to its upstream and streams the answer straight into the client's response, both ways with
 * back-pressure. A client that goes away ends the upstream request; an upstream that dies in the middle of an answer
 * resets the client's connection, so that half an answer is never taken for a whole one. No retries.
 */
export function forward(request: ForwardRequest): ForwardResult {
  const exchange = new Exchange(request)
  exchange.start()
  return exchange.result
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly result: ForwardResult = { status: 0, durationMs: 0, failure: undefined }
  readonly #request: ForwardRequest
  readonly #startedMs: number
  readonly #body: RequestBody | undefined
  readonly #deadline: NodeJS.Timeout
  #controller: Dispatcher.DispatchController | undefined
  #over = false
  #remaining = -1
  #sending = false

  constructor(request: ForwardRequest) {
    this.#request = request
    this.#startedMs = request.tickMs()
    this.#deadline = setTimeout(onDeadline, request.timeoutMs, this)
    if (request.body !== undefined)
      this.#body = new RequestBody(request.body, {
        limitBytes: request.bodyLimitBytes,
        onOverflow: () => this.#abandon({ refused: 'body_too_large', limitBytes: request.bodyLimitBytes }),
        onProgress: () => this.#deadline.refresh(),
      })
  }

  start(): void {
    const { upstream, method, target, headers, response } = this.#request
    response.once('close', () => this.#clientClosed())
    try {
      upstream.pool.dispatch(
        { method: method as Dispatcher.HttpMethod, path: target, headers, body: this.#body ?? null },
        this,
      )
    } catch (error) {
      this.#failed(error)
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('abandoned'))
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200 || this.#over) return
    const coding = headers['transfer-encoding']
    if (coding !== undefined && String(coding).toLowerCase() !== 'chunked') {
      this.#failed(new TypeError('the answer is in a transfer coding other than chunked'))
      return
    }
    const { response, shape, upstream, tickMs } = this.#request
    clearTimeout(this.#deadline)
    this.result.status = status
    this.result.durationMs = tickMs() - this.#startedMs
    upstream.meter.answered(status, this.result.durationMs / 1_000)
    response.writeHead(status, shape(status, headers) as string[])
    const length = headers['content-length']
    this.#remaining = length === undefined ? -1 : Number(length)
    // Events may be a long time coming: their headers do not wait for them. A small answer is one write all the same.
    if (this.#remaining === -1) setImmediate(flushHead, this)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    const { response } = this.#request
    this.#sending = true
    if (chunk.length === this.#remaining) {
      this.#remaining = 0
      this.#finish()
      endWith(response, chunk)
      return
    }
    if (this.#remaining !== -1) this.#remaining -= chunk.length
    if (response.write(chunk)) return
    controller.pause()
    response.once('drain', () => controller.resume())
  }

  onResponseEnd(): void {
    if (this.#over) return
    this.#finish()
    this.#request.response.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#failed(error)
  }

  flushHead(): void {
    const { response } = this.#request
    if (!this.#over && !this.#sending) response.flushHeaders()
  }

  timedOut(): void {
    if (this.#body?.waitsForClient === true) {
      this.#abandon({ refused: 'body_timed_out' })
      return
    }
    this.result.failure = 'timeout'
    this.#request.upstream.meter.failed('timeout')
    this.#abandon({ refused: 'upstream_timed_out' })
  }

  #failed(error: unknown): void {
    if (this.#over) return
    const { reason, refusal } = upstreamFailure(error)
    this.result.failure = reason
    this.#request.upstream.meter.failed(reason)
    this.#request.onFailure(error)
    this.#abandon(refusal)
  }

  /** Ends the upstream's side and tells the client: by an answer, or by a reset when one was under way. */
  #abandon(refusal: Refusal): void {
    if (this.#over) return
    this.#finish()
    // First let go of the client's body: whoever answers may have to read the rest of it.
    this.#body?.destroy()
    this.#controller?.abort(new Error('abandoned'))
    const { response, refuse } = this.#request
    // A reset: for HTTP/1.0 a connection that ends in good order is a body that is whole.
    if (response.headersSent) response.socket?.resetAndDestroy()
    else refuse(refusal)
  }

  #clientClosed(): void {
    if (this.#over) return
    this.#finish()
    this.#controller?.abort(new Error('the client is gone'))
    this.#body?.destroy()
  }

  #finish(): void {
    this.#over = true
    clearTimeout(this.#deadline)
  }
}

/** Below this, copying a body costs less than a second piece in a write. */
const TEXT_BYTES = 16 * 1024

/** Ends an answer with its only, or last, piece. As Latin-1 text, byte for byte the same, it leaves in one piece with the head. */
function endWith(response: ServerResponse, chunk: Buffer): void {
  if (chunk.length <= TEXT_BYTES) response.end(chunk.toString('latin1'), 'latin1')
  else response.end(chunk)
}

function onDeadline(exchange: Exchange): void {
  exchange.timedOut()
}

function flushHead(exchange: Exchange): void {
  exchange.flushHead()
}
