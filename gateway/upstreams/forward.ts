import { Exchange } from './exchange.ts'
import type { ForwardRequest, ForwardResult } from './forward-request.ts'

/**
 * Forwards a request to its upstream and streams the response to the client, with backpressure in both directions.
 * - If the client disconnects, the upstream request is aborted.
 * - If the upstream fails inside a response, the client's connection is reset. A partial response must not look
 * complete.
 * - The policy decides whether a request is retried. If there is another target, the retry goes to that target.
 * - Trailers are dropped in both directions: RFC 9110 section 6.5.1.
 */
export function forward(request: ForwardRequest): ForwardResult {
  const exchange = new Exchange(request)
  exchange.start()
  return exchange.result
}
