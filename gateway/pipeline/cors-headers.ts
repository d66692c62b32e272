/**
 * Every origin may call the API: what opens it is a token that the page must hold, never a cookie.
 * Without the exposed names, a page sees a 401 but not its challenge.
 */
export const CORS_HEADERS: readonly string[] = [
  'access-control-allow-origin',
  '*',
  'access-control-expose-headers',
  'WWW-Authenticate, X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Mcp-Session-Id, DPoP-Nonce',
]

/** What a preflight of an API route allows besides the methods. A browser asks again after ten minutes. */
export const PREFLIGHT_HEADERS: readonly string[] = [
  'access-control-allow-headers',
  'authorization, content-type, dpop, mcp-protocol-version, mcp-method, mcp-name, traceparent, idempotency-key',
  'access-control-max-age',
  '600',
]
