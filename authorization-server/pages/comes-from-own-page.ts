import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether what the browser says about the origin of a form fits a page of ours. A second lock beside the form token:
 * browsers that say nothing pass. `Origin: null` is what a page with `Referrer-Policy: no-referrer` sends.
 * Source: W3C Fetch Metadata section 2.4; Fetch Standard, "append a request Origin header".
 */
export function comesFromOwnPage(headers: IncomingHttpHeaders, ownOrigin: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return false
  const { origin } = headers
  return origin === undefined || origin === 'null' || origin === ownOrigin
}
