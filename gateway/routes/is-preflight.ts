import type { HeaderSource } from './find-header.ts'

/**
 * Whether a request is a CORS preflight, which needs no token. A header that is nominated in `Connection`, repeated or
 * spelled in another way does not count. Source: Fetch, CORS-preflight request.
 * @param request its end-to-end headers.
 */
export function isPreflight(method: string, request: HeaderSource): boolean {
  return method === 'OPTIONS' && typeof request.header('access-control-request-method') === 'string'
}
