import type { IncomingHttpHeaders } from 'node:http'

/**
 * Returns whether the headers of a posted form are consistent with a page of this server.
 * An additional check beside the form token: browsers that send neither header pass. A page with
 * `Referrer-Policy: no-referrer` sends `Origin: null`.
 * Source: W3C Fetch Metadata section 2.4; Fetch Standard, "append a request Origin header".
 */
export function comesFromOwnPage(headers: IncomingHttpHeaders, ownOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { origin } = headers
  return origin === undefined || origin === 'null' || origin === ownOrigin
}
