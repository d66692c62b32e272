import { UpstreamError } from '../http1/upstream-error.ts'

/** Creates the error for a 101 response that does not match the `Sec-WebSocket-Key` sent. RFC 6455 section 4.1. */
export function misunderstood(): UpstreamError {
  return new UpstreamError('ERR_UPSTREAM_PROTOCOL', 'the 101 response does not match the WebSocket handshake')
}
