import type { IncomingHttpHeaders, ServerResponse } from 'node:http'

/** Limit of interim responses per request, above any legitimate use. */
export const MAX_INTERIM_RESPONSES = 32

/**
 * Forwards a 102 response, and a 103 response with its `Link` header. All other interim responses are dropped, as is a
 * 103 without links. HTTP/1.0 clients get no interim responses. RFC 9110 section 15.2, RFC 8297.
 */
export function relayInterim(response: ServerResponse, status: number, headers: IncomingHttpHeaders): void {
  if (response.req.httpVersion !== '1.1') return
  if (status === 102) response.writeProcessing()
  const links = headers['link']
  if (status !== 103 || links === undefined) return
  try {
    response.writeEarlyHints({ link: links })
  } catch {
    // Node rejects an invalid link. The early hint is optional, so it is dropped.
  }
}
