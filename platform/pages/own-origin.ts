import type { IncomingHttpHeaders } from 'node:http'

/** Returns whether an `Origin` header names the host of the request. A proxy can end TLS, so both schemes are accepted. */
export function isOwnOrigin(origin: string, host: string | undefined): boolean {
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}

/**
 * Returns whether a page of the same origin sent a form. Browsers send `Origin` with each form of a page whose referrer
 * policy is `same-origin`. Fetch Standard, "append a request Origin header"; Fetch Metadata section 2.4.
 */
export function isFromOwnPage({ host, origin, ...headers }: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  return origin !== undefined && isOwnOrigin(origin, host) && (site === undefined || site === 'same-origin')
}
