import type { IncomingHttpHeaders, ServerResponse } from 'node:http'

/** More interim answers than any upstream has reason for. */
export const MAX_INTERIM_RESPONSES = 32

/**
 * Passes an interim answer on: 102 as it is, 103 with its links. What else there may be is dropped, and so is a 103
 * without links: nothing may depend on it. HTTP/1.0 clients get none. RFC 9110 section 15.2, RFC 8297.
 */
export function relayInterim(response: ServerResponse, status: number, headers: IncomingHttpHeaders): void {
  if (response.req.httpVersion !== '1.1') return
  if (status === 102) response.writeProcessing()
  const links = headers['link']
  if (status !== 103 || links === undefined) return
  try {
    response.writeEarlyHints({ link: links })
  } catch {
    // A link that Node does not take for one: a hint less.
  }
}
