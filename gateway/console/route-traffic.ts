import { addRoute, deniedCount, emptyRoute, type History, type Point } from './history.ts'
import type { RouteCounts } from './sample.ts'

/** Traffic of a route in the last minute. */
export type RouteTraffic = {
  readonly requests: number
  readonly denied: number
  readonly failed: number
  readonly denials: Readonly<Record<string, number>>
  /** Mean time until the end of the response. Milliseconds. */
  readonly meanMs: number | undefined
}

/** Number of points of the last minute, including the current point. */
export const RECENT_POINTS = 6

/** Returns the counts of all routes with requests in the last minute. */
export function recentRoutes({ points }: Pick<History, 'points'>): ReadonlyMap<string, RouteCounts> {
  const sums = new Map<string, RouteCounts>()
  for (const { routes } of points.slice(-RECENT_POINTS))
    for (const [name, counts] of routes) {
      const sum = sums.get(name) ?? emptyRoute()
      addRoute(sum, counts)
      sums.set(name, sum)
    }
  return sums
}

export function toTraffic(counts: RouteCounts = emptyRoute()): RouteTraffic {
  const { requests, failed, seconds, denied } = counts
  return {
    requests,
    denied: deniedCount(counts),
    failed,
    denials: denied,
    meanMs: requests === 0 ? undefined : (seconds * 1_000) / requests,
  }
}

/**
 * Returns the start of the failures that still continue: the first point with failures after the last point with only
 * successful requests. Points without requests do not count.
 * @returns null if the failures began before the first point.
 */
export function failingSince(
  points: readonly Point[],
  countsOf: (point: Point) => { readonly all: number; readonly failed: number } | undefined,
): number | null {
  let sinceMs: number | null = null
  for (const point of points.toReversed()) {
    const counts = countsOf(point)
    if (counts === undefined || counts.all === 0) continue
    if (counts.failed === 0) return sinceMs
    sinceMs = point.startMs
  }
  return sinceMs
}
