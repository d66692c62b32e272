/**
 * - `ERR_UPSTREAM_PROTOCOL`: what came is not an answer in HTTP/1.1
 * - `ERR_UPSTREAM_RESET`: the connection ended before the answer was whole
 * - `ERR_UPSTREAM_IDLE`: silence in the middle of an answer
 * - `ERR_UPSTREAM_UNFORWARDABLE`: the request cannot be written as one; nothing was sent
 * - `ERR_UPSTREAM_CLOSED`: the pool is closed
 */
export type UpstreamErrorCode =
  | 'ERR_UPSTREAM_PROTOCOL'
  | 'ERR_UPSTREAM_RESET'
  | 'ERR_UPSTREAM_IDLE'
  | 'ERR_UPSTREAM_UNFORWARDABLE'
  | 'ERR_UPSTREAM_CLOSED'

/** Why an exchange with an upstream came to nothing. Its message names no address and quotes no byte that came. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly code: UpstreamErrorCode

  constructor(code: UpstreamErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
