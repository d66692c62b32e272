/**
 * - `ERR_UPSTREAM_PROTOCOL`: the received bytes are not a valid HTTP/1.1 response
 * - `ERR_UPSTREAM_RESET`: the connection ended before the response was complete
 * - `ERR_UPSTREAM_IDLE`: the response stalled for too long
 * - `ERR_UPSTREAM_UNFORWARDABLE`: the head of the request is not valid, or the body does not match its `Content-Length`
 * - `ERR_UPSTREAM_CLOSED`: the pool is closed
 * - `ERR_UPSTREAM_QUEUE_FULL`: all connections are busy, and the queue has no free place
 * - `ERR_UPSTREAM_QUEUE_TIMEOUT`: no connection became free in time
 */
export type UpstreamErrorCode =
  | 'ERR_UPSTREAM_PROTOCOL'
  | 'ERR_UPSTREAM_RESET'
  | 'ERR_UPSTREAM_IDLE'
  | 'ERR_UPSTREAM_UNFORWARDABLE'
  | 'ERR_UPSTREAM_CLOSED'
  | 'ERR_UPSTREAM_QUEUE_FULL'
  | 'ERR_UPSTREAM_QUEUE_TIMEOUT'

/** Error of an exchange with an upstream. The message contains no addresses and no received bytes. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly code: UpstreamErrorCode

  constructor(code: UpstreamErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export function malformedResponse(what: string): UpstreamError {
  return new UpstreamError('ERR_UPSTREAM_PROTOCOL', `the response is malformed: ${what}`)
}
