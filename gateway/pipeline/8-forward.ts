import { type ForwardRequest, type ForwardResult, forward } from '../upstreams/forward.ts'

export type ForwardStageRequest = ForwardRequest & {
  /** The client waits for a go-ahead before it sends its body. */
  readonly expectsContinue: boolean
}

/**
 * Stage 8: the request goes to its upstream. Only now is a client that asked told to send its body
 * (RFC 9110 section 10.1.1); the upstream never sees the expectation.
 */
export function forwardRequest(request: ForwardStageRequest): ForwardResult {
  if (request.expectsContinue && request.body !== undefined) request.response.writeContinue()
  return forward(request)
}
