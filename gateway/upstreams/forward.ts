import { Exchange } from './exchange.ts'
import type { ForwardRequest, ForwardResult } from './forward-request.ts'

/**
 * Sends a request to its upstream and streams the answer straight into the client's response, both ways with
 * back-pressure. A client that goes away ends the upstream request; an upstream that dies in the middle of an answer
 * resets the client's connection, so that half an answer is never taken for a whole one. What a policy allows to be sent
 * again goes to another target where there is one. Trailers are dropped, both ways: RFC 9110 section 6.5.1.
 */
export function forward(request: ForwardRequest): ForwardResult {
  const exchange = new Exchange(request)
  exchange.start()
  return exchange.result
}
