import { type PreflightDecision, readBrowserHeader } from '../../policy-engine/decide/preflight.ts'
import { allowsOrigin, type CorsRule } from '../../policy-engine/load/policy-route.ts'
import type { RequestContext } from './request-context.ts'

/**
 * The response headers that a page can read in addition to the Fetch safelist. Without `WWW-Authenticate` in this list,
 * a page can read the status 401 but not the challenge.
 */
const EXPOSED_HEADERS = [
  ...['WWW-Authenticate', 'DPoP-Nonce', 'X-Request-Id', 'X-Scopegate-Error', 'Allow', 'Retry-After'],
  ...['RateLimit', 'RateLimit-Policy', 'Mcp-Session-Id', 'ETag', 'Link', 'Location'],
  ...['Content-Disposition', 'Content-Range'],
].join(', ')

/**
 * CORS headers of a route that allows every origin. The gateway never sends `Access-Control-Allow-Credentials`, so a
 * page cannot read the response to a request with cookies.
 */
export const CORS_HEADERS: readonly string[] = Object.freeze([
  'access-control-allow-origin',
  '*',
  'access-control-expose-headers',
  EXPOSED_HEADERS,
])

const NO_HEADERS: readonly string[] = Object.freeze([])
/** Prevents a cache from reusing a response to one origin for another origin. */
const VARY_ORIGIN: readonly string[] = Object.freeze(['vary', 'Origin'])

/** Returns the CORS headers of a response to any request except a preflight: name, value, name, value. */
export function corsOf({ route, canonical, method }: RequestContext): readonly string[] {
  const rule = route?.kind === 'api' ? route.policy.cors : undefined
  if (rule === undefined) return CORS_HEADERS
  return corsHeaders(rule, canonical && readBrowserHeader(canonical.headers, 'origin'), method)
}

function corsHeaders(rule: CorsRule, origin: string | undefined, method: string): readonly string[] {
  const isAllowed = allowsOrigin(rule, origin, method)
  if (rule.origins === undefined) return isAllowed ? CORS_HEADERS : NO_HEADERS
  if (!isAllowed || origin === undefined) return VARY_ORIGIN
  return [
    'access-control-allow-origin',
    origin,
    'access-control-expose-headers',
    EXPOSED_HEADERS,
    ...VARY_ORIGIN,
  ]
}

/** A preflight response depends on these request headers. */
const PREFLIGHT_VARY: readonly string[] = Object.freeze([
  'vary',
  'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
])
/** Time for which a browser may cache the preflight response. Seconds. */
const PREFLIGHT_MAX_AGE = '600'

/** Returns the CORS headers of a response to a preflight: name, value, name, value. */
export function preflightHeaders({ origin, methods, headers }: PreflightDecision): readonly string[] {
  if (origin === undefined) return PREFLIGHT_VARY
  return [
    'access-control-allow-origin',
    origin,
    'access-control-allow-methods',
    methods.join(', '),
    ...(headers.length === 0 ? [] : ['access-control-allow-headers', headers.join(', ')]),
    'access-control-max-age',
    PREFLIGHT_MAX_AGE,
    ...PREFLIGHT_VARY,
  ]
}
