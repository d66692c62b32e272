/**
 * The response headers that a page can read beside those that Fetch safelists. Without `WWW-Authenticate`, a page sees a
 * 401 but not its challenge.
 */
const EXPOSED_HEADERS = [
  ...['WWW-Authenticate', 'DPoP-Nonce', 'X-Request-Id', 'X-Scopegate-Error', 'Allow', 'Retry-After'],
  ...['RateLimit', 'RateLimit-Policy', 'Mcp-Session-Id', 'MCP-Protocol-Version', 'ETag', 'Link', 'Location'],
  ...['Accept-Ranges', 'Content-Disposition', 'Content-Range', 'Deprecation', 'Sunset'],
].join(', ')

/**
 * Every origin may call the API: a request is authorised by a token that the page must hold, never by a cookie. So
 * `Access-Control-Allow-Credentials` is never sent.
 */
export const CORS_HEADERS: readonly string[] = Object.freeze([
  'access-control-allow-origin',
  '*',
  'access-control-expose-headers',
  EXPOSED_HEADERS,
])

/** RFC 9110 sections 5.1 and 5.6.1. `*` alone would be a wildcard. */
const HEADER_NAME = /^[ \t]*(?!\*[ \t]*$)([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})[ \t]*$/
const MAX_HEADER_NAMES = 64

/** Reads `Access-Control-Request-Headers`: the valid names in lower case, at most 64. */
export function readRequestedHeaders(value: string): readonly string[] {
  return value
    .split(',', MAX_HEADER_NAMES)
    .flatMap((part) => HEADER_NAME.exec(part)?.[1]?.toLowerCase() ?? [])
}

/** A response to a preflight depends on these. */
const PREFLIGHT_VARY = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'
/** A browser asks again after this time. Seconds. */
const PREFLIGHT_MAX_AGE = '600'

/** Builds the headers of a response to a preflight: name, value, name, value. */
export function preflightHeaders(methods: string, names: readonly string[]): readonly string[] {
  return [
    'access-control-allow-origin',
    '*',
    'access-control-allow-methods',
    methods,
    ...(names.length === 0 ? [] : ['access-control-allow-headers', names.join(', ')]),
    'access-control-max-age',
    PREFLIGHT_MAX_AGE,
    'vary',
    PREFLIGHT_VARY,
  ]
}
