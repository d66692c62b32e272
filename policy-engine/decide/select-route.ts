import type { HeaderValue, PolicyRoute } from '../load/policy-route.ts'
import type { CanonicalRequest } from '../match/canonical-request.ts'
import type { HeaderSource } from '../match/find-header.ts'
import { isCallHeader, isMcpValue, readMatchHeader } from '../match/mcp-headers.ts'
import type { Match } from '../match/route-table.ts'
import { decidePreflight, type Preflight, type PreflightDecision, readPreflight } from './preflight.ts'
import type { Rejection } from './rejection.ts'

/** Result of matching a request: a route, or a local reply to OPTIONS. */
export type Selection<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: Readonly<Record<string, string>> }
  | OptionsSelection<T>

/** The data of a local reply to OPTIONS, which requires no token. */
export type OptionsSelection<T> = {
  readonly kind: 'options'
  /** The route for the method OPTIONS. undefined: no route of the path has the method OPTIONS. */
  readonly route: T | undefined
  readonly params: Readonly<Record<string, string>>
  /** Methods of the path. */
  readonly allow: readonly string[]
  /** The decision on a CORS preflight. undefined: the request is not a CORS preflight. */
  readonly preflight: DecidedPreflight | undefined
}

export type DecidedPreflight = { readonly asked: Preflight; readonly decision: PreflightDecision }

/** A route of a policy, or a built-in route of the gateway. Built-in routes have no policy. */
type Selectable = { readonly methods: readonly string[]; readonly policy?: PolicyRoute }

/** The path belongs to a policy source without valid policies. */
export type UnavailableMatch = { readonly kind: 'unavailable' }

type Table<T> = {
  match(method: string, path: string, request: CanonicalRequest['headers']): Match<T> | UnavailableMatch
  routesAt(path: string): ReadonlyMap<string, readonly T[]>
}

export const EVERY_METHOD: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * Selects the route of a canonical request.
 * The gateway forwards only requests that match a route. A preflight to a route of a policy gets a local reply, even if
 * the methods of the route include OPTIONS.
 * @returns the route, a local reply to OPTIONS, or the rejection `route_unknown` (404), `method_not_allowed` (405),
 * `policy_unavailable` (503), `mcp_headers_missing` (400) or `token_missing` (401).
 */
export function selectRoute<T extends Selectable>(
  method: string,
  canonical: CanonicalRequest,
  table: Table<T>,
): Selection<T> | Rejection {
  const { path, headers } = canonical
  // RFC 9110 section 9.3.7: `*` refers to the server as a whole.
  if (path === '*') return replyToOptions(canonical, table, { allow: EVERY_METHOD })
  const match = table.match(method, path, headers)
  if (match.kind === 'not_found') return rejectUnmatched(method, canonical, table)
  if (match.kind === 'unavailable') return { rejected: 'policy_unavailable' }
  if (match.kind === 'method_not_allowed') {
    const allow = match.allow.includes('OPTIONS') ? match.allow : [...match.allow, 'OPTIONS']
    if (method === 'OPTIONS') return replyToOptions(canonical, table, { allow })
    return { rejected: 'method_not_allowed', allow }
  }
  const isPreflight =
    method === 'OPTIONS' && match.route.policy !== undefined && readPreflight(method, headers) !== undefined
  return isPreflight ? replyToOptions(canonical, table, match) : match
}

/**
 * Rejects a request that matches no route. If the request lacks only headers of MCP, the client has an older revision of
 * MCP. Such a client treats 404 as the end of a session, so it gets a challenge, or the revision that the routes require.
 */
function rejectUnmatched<T extends Selectable>(
  method: string,
  { path, headers }: CanonicalRequest,
  table: Table<T>,
): Rejection {
  const policies = (table.routesAt(path).get(method) ?? []).flatMap(({ policy }) => policy ?? [])
  const lacking = policies.filter(({ matchHeaders }) => lacksOnlyMcpHeaders(matchHeaders, headers))
  if (lacking.length === 0) return { rejected: 'route_unknown' }
  const isChallenged =
    headers.authorizationCount === 0 && lacking.every(({ anonymous }) => anonymous === 'challenge')
  return isChallenged
    ? { rejected: 'token_missing', anonymous: 'challenge', needed: [] }
    : { rejected: 'mcp_headers_missing' }
}

function lacksOnlyMcpHeaders(required: readonly HeaderValue[], request: HeaderSource): boolean {
  let isLacking = false
  for (const { name, value } of required) {
    // On a path with `mcp.readBody`, the body replaces these headers.
    const isInBody = request.mcpCall !== undefined && isCallHeader(name)
    const actual = isInBody ? readMatchHeader(request, name) : request.header(name)
    if (actual === undefined && !isInBody && isMcpValue(name)) isLacking = true
    else if (actual !== value) return false
  }
  return isLacking
}

function replyToOptions<T extends Selectable>(
  { path, headers }: CanonicalRequest,
  table: Table<T>,
  {
    allow,
    route,
    params = NO_PARAMS,
  }: {
    /** Methods of the path. Default: the methods of all routes of the path. */
    readonly allow?: readonly string[]
    readonly route?: T
    readonly params?: Readonly<Record<string, string>>
  },
): OptionsSelection<T> {
  const asked = readPreflight('OPTIONS', headers)
  const routes = table.routesAt(path)
  const methods = allow ?? [...routes.keys()]
  const preflight = asked && { asked, decision: decidePreflight(asked, routes, methods) }
  return { kind: 'options', route, params, allow: methods, preflight }
}
