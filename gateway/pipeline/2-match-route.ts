import type { Refusal } from '../refusal.ts'
import type { Route, Snapshot } from '../routes/route.ts'

/** What the table says: a route, or the methods of a path that was asked about with OPTIONS. */
export type Matched =
  | {
      readonly kind: 'route'
      readonly route: Route
      readonly params: Readonly<Record<string, string>>
    }
  | { readonly kind: 'options'; readonly allow: readonly string[] }

const EVERY_METHOD = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * Stage 2: the one route of a canonical path. Nothing is forwarded without one.
 * @returns the route; what OPTIONS answers with; `route_unknown` or `method_not_allowed`.
 */
export function matchRoute(
  method: string,
  path: string,
  snapshot: Pick<Snapshot, 'match'>,
): Matched | Refusal {
  // RFC 9110 section 9.3.7: an asterisk asks about the server as a whole.
  if (path === '*') return { kind: 'options', allow: EVERY_METHOD }
  const match = snapshot.match(method, path)
  if (match.kind === 'route') return match
  if (match.kind === 'not_found') return { refused: 'route_unknown' }
  if (method === 'OPTIONS') return { kind: 'options', allow: withOptions(match.allow) }
  return { refused: 'method_not_allowed', allow: withOptions(match.allow) }
}

function withOptions(methods: readonly string[]): readonly string[] {
  return methods.includes('OPTIONS') ? methods : [...methods, 'OPTIONS']
}
