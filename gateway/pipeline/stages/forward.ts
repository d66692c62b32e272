import { forward } from '../../upstreams/forward.ts'
import type { ForwardRequest, ForwardResult } from '../../upstreams/forward-request.ts'
import { expectsContinue } from '../expects-continue.ts'

/**
 * Stage 8: the request goes to its upstream. Only now is a client that asked told to send its body
 * (RFC 9110 section 10.1.1); the upstream never sees the expectation.
 */
export function forwardRequest(request: ForwardRequest): ForwardResult {
  const { body, response } = request
  if (body !== undefined && expectsContinue(body)) response.writeContinue()
  return forward(request)
}
