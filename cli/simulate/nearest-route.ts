import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'

/**
 * Finds the most similar route for a path without a match. Prefers a path with a small edit distance. Otherwise selects
 * the route that shares the most leading segments, at least half of them.
 * @param path canonical path of the request.
 */
export function nearestRoute<R extends Pick<PolicyRoute, 'path'>>(
  path: string,
  routes: readonly R[],
): R | undefined {
  const segments = path.split('/')
  const filled = new Map<string, R>()
  for (const route of routes) {
    const candidate = fillTemplate(route.path, segments)
    if (!filled.has(candidate)) filled.set(candidate, route)
  }
  const near = suggest(path, filled.keys())
  if (near !== undefined) return filled.get(near)
  let best: R | undefined
  let bestShared = Math.ceil((segments.length - 1) / 2)
  for (const [candidate, route] of filled) {
    const shared = sharedSegments(candidate.split('/'), segments)
    if (shared > bestShared) [best, bestShared] = [route, shared]
  }
  return best
}

/** Replaces each parameter, and the wildcard, by the segments of the request at the same position. */
function fillTemplate(template: string, segments: readonly string[]): string {
  return template
    .split('/')
    .flatMap((segment, at) => {
      if (segment === '**') return segments.slice(at)
      return segment.startsWith('{') ? [segments[at] ?? segment] : [segment]
    })
    .join('/')
}

/** Counts the equal leading segments, including the empty one before the first slash. */
function sharedSegments(a: readonly string[], b: readonly string[]): number {
  const difference = a.findIndex((segment, at) => segment !== b[at])
  return difference === -1 ? a.length : difference
}
