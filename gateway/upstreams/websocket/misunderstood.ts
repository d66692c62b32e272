import { UpstreamError } from '../http1/upstream-error.ts'

/** Why a 101 of an upstream is of no use: it is no answer to the key that was sent. RFC 6455 section 4.1. */
export function misunderstood(): UpstreamError {
  return new UpstreamError(
    'ERR_UPSTREAM_PROTOCOL',
    'the 101 does not agree to the WebSocket that was asked for',
  )
}
