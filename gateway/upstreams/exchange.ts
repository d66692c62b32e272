import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Trial } from '../../platform/circuit-breaker.ts'
import { LimitedBuffer } from '../../platform/net/limited-buffer.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { mayRetry, type RetryCause } from '../../policy-engine/format/retry-rule.ts'
import { endWith, isEventStream, relayInterim, resetClient } from './client-response.ts'
import type { ForwardRequest, ForwardResult, ResponseRewriter } from './forward-request.ts'
import type { DispatchController, DispatchHandler } from './http1/dispatch.ts'
import { MAX_INTERIM_RESPONSES } from './http1/response-head.ts'
import { RequestBody } from './request-body.ts'
import type { QueuedRequest } from './request-queue.ts'
import type { Target } from './target.ts'
import { errorCode, upstreamFailure } from './upstream-failure.ts'

/** One forwarded request and its response, over as many attempts as the policy allows. */
export class Exchange implements DispatchHandler {
  readonly result: ForwardResult = { status: 0, durationMs: 0, failure: undefined, failureCode: undefined }
  readonly #request: ForwardRequest
  readonly #startedMs: number
  #deadline: NodeJS.Timeout
  #queued: QueuedRequest | undefined
  #body: RequestBody | undefined
  #target: Target | undefined
  /** Set if the current attempt is the trial request of its target. */
  #trial: Trial | undefined
  #attempts = 0
  #attemptStartedMs = 0
  #interimResponses = 0
  #stallWatched = false
  #discarding = false
  #controller: DispatchController | undefined
  #over = false
  #remaining = -1
  #sending = false
  /** A response that the client does not get before its end. */
  #held: HeldResponse | undefined

  constructor(request: ForwardRequest) {
    this.#request = request
    this.#startedMs = request.tickMs()
    this.#deadline = setTimeout(onDeadline, request.timeoutMs, this)
  }

  start(): void {
    const { upstream, response } = this.#request
    // A response emits `close` only once, so `on()` is enough. `once()` would need an additional wrapper function.
    response.on('close', () => this.guard(this.#clientClosed))
    upstream.retryBudget.earn()
    const target = upstream.queue.size > 0 ? undefined : upstream.targets.choose()
    if (target === undefined) {
      if (upstream.targets.isAccepting) this.#enqueue()
      else this.#ejected()
      return
    }
    this.#enterTarget(target)
    this.#send(target)
  }

  /** Waits for a connection. The time limit of the response begins when the request leaves the queue. */
  #enqueue(): void {
    const { upstream, timeoutMs } = this.#request
    clearTimeout(this.#deadline)
    this.#queued = {
      start: (target) =>
        this.guard(() => {
          this.#queued = undefined
          this.#deadline = setTimeout(onDeadline, timeoutMs, this)
          this.#enterTarget(target)
          this.#send(target)
        }),
      reject: (error) =>
        this.guard(() => {
          this.#queued = undefined
          if (error === undefined) this.#ejected()
          else this.#failed(error)
        }),
    }
    upstream.queue.add(this.#queued)
  }

  #send(target: Target): void {
    if (this.#over) return
    const { method, target: path, headers, body, bodyLimitBytes, idleTimeoutMs, onUpgrade } = this.#request
    this.#controller = undefined
    if (body !== undefined)
      this.#body = new RequestBody(body, {
        limitBytes: bodyLimitBytes,
        onOverflow: () =>
          this.guard(() => this.#abandon({ rejected: 'body_too_large', limitBytes: bodyLimitBytes })),
        onProgress: () => this.#deadline.refresh(),
      })
    try {
      this.#controller = target.pool.dispatch(
        { method, path, headers, body: this.#body, idleTimeoutMs, upgrade: onUpgrade !== undefined },
        this,
      )
    } catch (error) {
      this.#failed(error)
    }
  }

  onResponseStart(_controller: DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#over) return
    if (status < 200) {
      this.#interim(status, headers)
      return
    }
    const { response, shape, upstream, tickMs, rewriter, rejectionOf } = this.#request
    const nowMs = tickMs()
    this.result.status = status
    this.result.durationMs = nowMs - this.#startedMs
    upstream.meter.responded(status, (nowMs - this.#attemptStartedMs) / 1_000)
    this.#target?.succeeded(nowMs)
    if (status === 503 && this.#retry(503)) return
    const rejection = rejectionOf(status)
    const holder = rejection === undefined ? rewriter : replaceBy(rejection)
    if (holder !== undefined) {
      // The deadline continues, because the client gets no byte before the response is complete.
      this.#held = { status, headers, rewriter: holder, body: new LimitedBuffer(holder.limitBytes) }
      return
    }
    clearTimeout(this.#deadline)
    response.writeHead(status, shape(status, headers) as string[])
    const length = headers['content-length']
    this.#remaining = length === undefined ? -1 : Number(length)
    // If the length is not announced, sends the headers before the first chunk, because the first chunk may come late.
    // Because of `setImmediate`, a small response still needs only one write.
    if (this.#remaining !== -1) return
    setImmediate(flushHead, this)
    if (isEventStream(headers['content-type'])) this.#request.eventStreams.add(this)
  }

  onRequestUpgrade(
    _controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    if (this.#over) {
      socket.destroy()
      return
    }
    const { upstream, tickMs, onUpgrade } = this.#request
    this.result.status = status
    this.result.durationMs = tickMs() - this.#startedMs
    upstream.meter.responded(status, this.result.durationMs / 1_000)
    this.#target?.succeeded(tickMs())
    this.#target?.upgraded(socket)
    this.#finish()
    onUpgrade?.(headers, socket)
  }

  /** Ends an event stream during a drain. The client of the stream reconnects, and discards an incomplete event. */
  endStream(): void {
    if (this.#over) return
    this.#finish()
    this.#controller?.abort()
    this.#request.response.end()
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#over) return
    const { response } = this.#request
    if (this.#held !== undefined) {
      this.#hold(this.#held, chunk)
      return
    }
    this.#sending = true
    if (chunk.length === this.#remaining) {
      this.#remaining = 0
      this.#end(chunk)
      return
    }
    if (this.#remaining !== -1) this.#remaining -= chunk.length
    if (response.write(chunk)) return
    controller.pause()
    this.#watchStall()
    response.once('drain', () => controller.resume())
  }

  onResponseText(text: string): void {
    if (this.#over) return
    if (this.#held === undefined) this.#end(text)
    else {
      this.#hold(this.#held, Buffer.from(text, 'latin1'))
      this.onResponseEnd()
    }
  }

  onResponseEnd(): void {
    if (this.#over) return
    if (this.#held === undefined) this.#end(undefined)
    else this.#endHeld(this.#held)
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    if (!this.#discarding) this.#failed(error)
  }

  flushHead(): void {
    const { response } = this.#request
    if (!this.#over && !this.#sending) response.flushHeaders()
  }

  timedOut(): void {
    if (this.#body?.waitsForClient === true) {
      this.#abandon({ rejected: 'body_timed_out' })
      return
    }
    this.result.failure = 'timeout'
    this.#request.upstream.meter.failed('timeout')
    if (this.#hadUpstreamTimeout()) this.#target?.failed(this.#attemptStartedMs)
    this.#abandon({ rejected: 'upstream_timed_out' })
  }

  /**
   * Returns whether the target had at least the timeout of the upstream for its response. A policy can set a shorter
   * timeout. Such a timeout must not open the circuit, because other policies use the target too.
   */
  #hadUpstreamTimeout(): boolean {
    const { timeoutMs, upstream, tickMs } = this.#request
    // The timer starts at the time of the event loop, which can be earlier than the clock.
    return (
      (this.#attempts === 1 && timeoutMs >= upstream.timeoutMs) ||
      tickMs() - this.#attemptStartedMs >= upstream.timeoutMs
    )
  }

  /** Ends this request after an exception in the gateway's own code. */
  handlerFailed(error: unknown): void {
    this.#finish()
    this.#body?.destroy()
    this.#controller?.abort()
    this.#request.onBroken(error)
  }

  guard(work: (this: Exchange) => void): void {
    try {
      work.call(this)
    } catch (error) {
      this.handlerFailed(error)
    }
  }

  #failed(error: unknown): void {
    if (this.#over) return
    const { reason, rejection, retryCause } = upstreamFailure(error)
    this.#request.upstream.meter.failed(reason)
    this.#request.onFailure(error)
    // If the request or the gateway caused the failure, the failure does not count against the target.
    if (rejection.rejected !== 'request_malformed' && rejection.rejected !== 'overloaded')
      this.#target?.failed(this.#attemptStartedMs)
    if (retryCause !== undefined && this.#retry(retryCause)) return
    this.result.failure = reason
    this.result.failureCode = errorCode(error)
    this.#abandon(rejection)
  }

  /** Rejects the request without an attempt, because the circuits of all targets are open. */
  #ejected(): void {
    this.result.failure = 'ejected'
    this.#request.upstream.meter.failed('ejected')
    this.#abandon(EJECTED)
  }

  /** @returns whether another attempt started. */
  #retry(cause: RetryCause): boolean {
    const { retries, method, upstream, response } = this.#request
    const body = this.#body
    const allowed = mayRetry(retries, {
      cause,
      method,
      attempts: this.#attempts,
      bodyBytes: body?.bytes ?? 0,
      responseBegan: response.headersSent || this.#interimResponses > 0 || this.#held !== undefined,
    })
    if (!allowed) return false
    const next = upstream.targets.choose(this.#target)
    if (next === undefined || !upstream.retryBudget.spend()) return false
    upstream.meter.retried()
    this.#leaveTarget()
    this.#enterTarget(next)
    // Discards the rest of the response, and closes the connection of this response.
    this.#discarding = true
    this.#controller?.abort()
    body?.destroy()
    this.#discarding = false
    // The caller may be the parser of the HTTP client. The next attempt therefore starts after the caller returns.
    queueMicrotask(() => this.guard(() => this.#send(next)))
    return true
  }

  #interim(status: number, headers: IncomingHttpHeaders): void {
    this.#interimResponses += 1
    if (this.#interimResponses > MAX_INTERIM_RESPONSES)
      this.#failed(new RangeError('the upstream sent too many interim responses'))
    else relayInterim(this.#request, status, headers)
  }

  #hold({ body, rewriter }: HeldResponse, chunk: Buffer): void {
    if (!body.add(chunk)) this.#abandon(rewriter.rejection)
  }

  #endHeld({ status, headers, rewriter, body: { content: received } }: HeldResponse): void {
    const { response, shape } = this.#request
    const body = rewriter.rewrite({ status, headers, body: received })
    if (body === undefined) {
      this.#abandon(rewriter.rejection)
      return
    }
    if (body === received) response.writeHead(status, shape(status, headers) as string[])
    else {
      const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !BODY_HEADERS.has(name)))
      response.writeHead(status, [...shape(status, kept), 'content-length', String(body.length)])
    }
    this.#end(body.length === 0 ? undefined : body)
  }

  #end(last: Buffer | string | undefined): void {
    this.#finish()
    const { response, body, endEarly } = this.#request
    if (body === undefined || body.complete) {
      if (last === undefined) response.end()
      else endWith(response, last)
      return
    }
    if (last !== undefined) response.write(last, 'latin1')
    this.#body?.destroy()
    endEarly(response.req, response)
  }

  /**
   * Starts a stall timeout when the client reads too slowly for the first time. If the client reads nothing until the
   * timeout, the gateway resets the connection.
   */
  #watchStall(): void {
    if (this.#stallWatched) return
    this.#stallWatched = true
    const { response, idleTimeoutMs } = this.#request
    response.setTimeout(idleTimeoutMs, () => resetClient(response))
  }

  /**
   * Aborts the upstream request. The client gets a local reply. If the response has already begun, the gateway resets
   * the connection instead.
   */
  #abandon(rejection: Rejection): void {
    if (this.#over) return
    this.#finish()
    // Detaches from the client's body first. The local reply may have to drain the rest of the body.
    this.#body?.destroy()
    this.#controller?.abort()
    const { response, reject } = this.#request
    if (response.headersSent) resetClient(response)
    else reject(rejection)
  }

  #clientClosed(): void {
    if (this.#over) return
    this.#finish()
    this.#controller?.abort()
    this.#body?.destroy()
  }

  #finish(): void {
    this.#over = true
    if (this.#remaining === -1) this.#request.eventStreams.delete(this)
    clearTimeout(this.#deadline)
    if (this.#queued !== undefined) this.#request.upstream.queue.leave(this.#queued)
    this.#leaveTarget()
  }

  /**
   * Begins an attempt. The target counts the request when the gateway chooses the target. Otherwise two retries could
   * both become the trial request of the target.
   */
  #enterTarget(target: Target): void {
    this.#target = target
    this.#attempts += 1
    this.#attemptStartedMs = this.#request.tickMs()
    this.#trial = target.started(this.#attemptStartedMs)
  }

  #leaveTarget(): void {
    this.#target?.ended(this.#trial)
    this.#target = undefined
  }
}

type HeldResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rewriter: ResponseRewriter
  readonly body: LimitedBuffer
}

/** The gateway closes the connection of a longer response that must not reach the client. Bytes. */
const DISCARDED_BYTES = 16 * 1024

/** Replaces a response. A new connection for each rejected request would cost the upstream a TLS handshake. */
function replaceBy(rejection: Rejection): ResponseRewriter {
  return { limitBytes: DISCARDED_BYTES, rewrite: () => undefined, rejection }
}

/** Headers that describe the bytes of a body. RFC 9110 section 8, RFC 9530. */
const BODY_HEADERS: ReadonlySet<string> = new Set([
  'content-length',
  'content-digest',
  'content-md5',
  'digest',
  'etag',
  'repr-digest',
])

const EJECTED: Rejection = { rejected: 'upstream_ejected', retryAfterSeconds: 1 }

function onDeadline(exchange: Exchange): void {
  exchange.guard(exchange.timedOut)
}

function flushHead(exchange: Exchange): void {
  exchange.guard(exchange.flushHead)
}
