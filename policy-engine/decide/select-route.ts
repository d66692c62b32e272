import type { HeaderSource } from '../match/find-header.ts'
import type { Match } from '../match/route-table.ts'
import type { Refusal } from './refusal.ts'

/** Result of a match: a route, or the methods of a path for an OPTIONS request. */
export type Found<T> =
  | { readonly kind: 'route'; readonly route: T; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'options'; readonly allow: readonly string[] }

const EVERY_METHOD = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Finds the route of a canonical path. The gateway forwards only requests that match a route.
 * @returns the route, the methods for a local reply to OPTIONS, `route_unknown` or `method_not_allowed`.
 */
export function findRoute<T>(
  method: string,
  path: string,
  table: { match(method: string, path: string, request: HeaderSource): Match<T> },
  request: HeaderSource,
): Found<T> | Refusal {
  // RFC 9110 section 9.3.7: `*` refers to the server as a whole.
  if (path === '*') return { kind: 'options', allow: EVERY_METHOD }
  const match = table.match(method, path, request)
  if (match.kind === 'route') return match
  if (match.kind === 'not_found') return { refused: 'route_unknown' }
  if (method === 'OPTIONS') return { kind: 'options', allow: withOptions(match.allow) }
  return { refused: 'method_not_allowed', allow: withOptions(match.allow) }
}

function withOptions(methods: readonly string[]): readonly string[] {
  return methods.includes('OPTIONS') ? methods : [...methods, 'OPTIONS']
}
