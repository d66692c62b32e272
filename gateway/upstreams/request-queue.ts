import { UpstreamError } from './http1/upstream-error.ts'
import type { Target } from './target.ts'

/** A request without a connection. The queue calls exactly one of these functions, unless the request leaves. */
export type QueuedRequest = {
  start(target: Target): void
  /** The request gets no connection. Undefined: no target accepts requests. */
  reject(error: UpstreamError | undefined): void
}

export type RequestQueueOptions = {
  readonly maxRequests: number
  /** Longest wait. Milliseconds. */
  readonly timeoutMs: number
  /** Returns a target with a free connection, `full`, or undefined if the circuits of all targets are open. */
  readonly choose: () => Target | 'full' | undefined
}

/** The requests that wait for a free connection of an upstream, in the order of their arrival. */
export class RequestQueue {
  readonly #options: RequestQueueOptions
  readonly #waiting = new Map<QueuedRequest, NodeJS.Timeout>()
  #scheduled = false

  constructor(options: RequestQueueOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Adds a request, or rejects the request if the queue is full. */
  add(request: QueuedRequest): void {
    if (this.#waiting.size >= this.#options.maxRequests) {
      request.reject(
        new UpstreamError(
          'ERR_UPSTREAM_QUEUE_FULL',
          'all connections to the upstream are busy, and the queue is full',
        ),
      )
      return
    }
    const timer = setTimeout(() => this.#expire(request), this.#options.timeoutMs)
    this.#waiting.set(request, timer)
  }

  leave(request: QueuedRequest): void {
    clearTimeout(this.#waiting.get(request))
    this.#waiting.delete(request)
  }

  /** Starts requests after a connection may have become free. A retry of the current request comes first. */
  advance(): void {
    if (this.#waiting.size === 0 || this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#startWaiting()
    })
  }

  /** Rejects all requests. */
  close(): void {
    for (const request of [...this.#waiting.keys()]) {
      this.leave(request)
      request.reject(undefined)
    }
  }

  #startWaiting(): void {
    for (const request of this.#waiting.keys()) {
      const target = this.#options.choose()
      if (target === 'full') return
      this.leave(request)
      if (target === undefined) request.reject(undefined)
      else request.start(target)
    }
  }

  #expire(request: QueuedRequest): void {
    this.leave(request)
    request.reject(
      new UpstreamError(
        'ERR_UPSTREAM_QUEUE_TIMEOUT',
        'all connections to the upstream are busy, and queueTimeout has passed',
      ),
    )
  }
}
