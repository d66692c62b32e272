import { forward } from '../../upstreams/forward.ts'
import type { ForwardRequest, ForwardResult } from '../../upstreams/forward-request.ts'
import { expectsContinue } from '../expects-continue.ts'

/**
 * Stage 8: forwards the request to its upstream. A client that sent `Expect: 100-continue` gets its 100 response here
 * (RFC 9110 section 10.1.1). The gateway does not forward the `Expect` header.
 * Reads the prepared request: `body`, `response` and the options of the forwarder.
 * @returns the result of the forwarder, which fills its fields while the response is sent.
 */
export function forwardRequest(request: ForwardRequest): ForwardResult {
  const { body, response } = request
  if (body !== undefined && expectsContinue(body)) response.writeContinue()
  return forward(request)
}
