import type { MetricsJson } from '../../platform/ops/metrics-format.ts'
import { mergeMetrics } from '../cluster/aggregate-workers.ts'
import type { CheckKind, GatewayCheck } from '../observability/readiness-check.ts'
import {
  add,
  type Counts,
  entry,
  type GaugeName,
  type RedisFallbacks,
  type ReloadCounts,
  type RouteCounts,
  type Sample,
} from './sample.ts'

/** Period of the samples while no page is open, and length of one point of a chart. Milliseconds. */
export const POINT_MS = 10_000
/** Number of points: half an hour. */
export const MAX_POINTS = 180
/** Each older point keeps only this many routes with most denials and failures. Bounds the memory. */
const KEPT_ROUTES = 100
/** Number of points in which all routes stay: one minute. */
const FULL_POINTS = 6

/** The counts of all processes in a period. */
export type Point = {
  readonly startMs: number
  endMs: number
  readonly totals: Totals
  routes: Map<string, RouteCounts>
  readonly upstreams: Map<string, Counts['upstreams'][number][1]>
  readonly issuers: Map<string, Counts['issuers'][number][1]>
}

export type Totals = {
  requests: number
  failed: number
  denied: number
  readonly denials: Record<string, number>
  readonly latency: number[]
  cacheHits: number
  cacheMisses: number
  revocations: number
  revocationGaps: number
  readonly redisFallbacks: RedisFallbacks
  readonly reloads: ReloadCounts
  /** The largest number of failing checks of revocation streams in a sample. */
  failingStreams: number
  /** The largest number of failing checks of policies in a sample. */
  failingPolicies: number
}

export type History = {
  /** Completed points and the current point, oldest first. At least one point. */
  readonly points: readonly Point[]
  readonly gauges: MetricsJson
  readonly checks: readonly GatewayCheck[]
  /** Start of the first point. Milliseconds since 1970. */
  readonly sinceMs: number
  /** Time of the first sample in which the check was not healthy, without a healthy sample since. */
  unhealthySinceMs(check: string): number | undefined
  /** Time of the last sample with a received revocation. */
  readonly lastRevocationMs: number | undefined
  /** Time of the last sample with a successful reload of policies. */
  readonly lastReloadMs: number | undefined
  add(samples: readonly Sample[], checks: readonly GatewayCheck[], nowMs: number): void
}

export function createHistory(startMs: number): History {
  const points: Point[] = [emptyPoint(startMs)]
  const unhealthy = new Map<string, number>()
  let gauges: MetricsJson = []
  let checks: readonly GatewayCheck[] = []
  let lastRevocationMs: number | undefined
  let lastReloadMs: number | undefined

  return {
    points,
    sinceMs: startMs,
    get gauges() {
      return gauges
    },
    get checks() {
      return checks
    },
    unhealthySinceMs: (check) => unhealthy.get(check),
    get lastRevocationMs() {
      return lastRevocationMs
    },
    get lastReloadMs() {
      return lastReloadMs
    },
    add(samples, newChecks, nowMs) {
      gauges = mergeMetrics(samples.map((sample) => sample.gauges))
      checks = newChecks
      for (const { name, ok, degraded } of newChecks) {
        if (ok && degraded !== true) unhealthy.delete(name)
        else if (!unhealthy.has(name)) unhealthy.set(name, nowMs)
      }
      const names = new Set(newChecks.map(({ name }) => name))
      for (const name of unhealthy.keys()) if (!names.has(name)) unhealthy.delete(name)
      let point = points.at(-1)
      if (point === undefined || nowMs - point.startMs >= POINT_MS) {
        point = emptyPoint(point?.endMs ?? nowMs)
        points.push(point)
        if (points.length > MAX_POINTS) points.shift()
        const older = points.at(-1 - FULL_POINTS)
        if (older !== undefined) older.routes = keepWorst(older.routes)
      }
      point.endMs = nowMs
      for (const { counts } of samples) {
        addCounts(point, counts)
        if (counts.revocations > 0) lastRevocationMs = nowMs
        if (counts.reloads.success > 0) lastReloadMs = nowMs
      }
      const { totals } = point
      const failing = (...kinds: readonly CheckKind[]) =>
        newChecks.filter(({ kind, name }) => kinds.includes(kind) && unhealthy.has(name)).length
      totals.failingStreams = Math.max(totals.failingStreams, failing('revocation_stream'))
      totals.failingPolicies = Math.max(totals.failingPolicies, failing('policies', 'policy_source'))
    },
  }
}

function emptyPoint(startMs: number): Point {
  return {
    startMs,
    endMs: startMs,
    totals: {
      requests: 0,
      failed: 0,
      denied: 0,
      denials: {},
      latency: [],
      cacheHits: 0,
      cacheMisses: 0,
      revocations: 0,
      revocationGaps: 0,
      redisFallbacks: { rateLimits: 0, tokenLookups: 0, proofs: 0 },
      reloads: { success: 0, failure: 0 },
      failingStreams: 0,
      failingPolicies: 0,
    },
    routes: new Map(),
    upstreams: new Map(),
    issuers: new Map(),
  }
}

function addCounts(point: Point, counts: Counts): void {
  const { totals } = point
  for (const [name, route] of counts.routes) {
    const sum = entry(point.routes, name, emptyRoute)
    addRoute(sum, route)
    totals.requests += route.requests
    totals.failed += route.failed
    for (const [reason, count] of Object.entries(route.denied)) {
      add(totals.denials, reason, count)
      totals.denied += count
    }
  }
  for (const [name, { responses, failed, seconds, errors }] of counts.upstreams) {
    const sum = entry(point.upstreams, name, () => ({ responses: 0, failed: 0, seconds: 0, errors: {} }))
    sum.responses += responses
    sum.failed += failed
    sum.seconds += seconds
    for (const [reason, count] of Object.entries(errors)) add(sum.errors, reason, count)
  }
  for (const [name, { answered, failed }] of counts.issuers) {
    const sum = entry(point.issuers, name, () => ({ answered: 0, failed: 0 }))
    sum.answered += answered
    sum.failed += failed
  }
  for (const [index, count] of counts.latency.entries())
    totals.latency[index] = (totals.latency[index] ?? 0) + count
  totals.cacheHits += counts.cacheHits
  totals.cacheMisses += counts.cacheMisses
  totals.revocations += counts.revocations
  totals.revocationGaps += counts.revocationGaps
  totals.redisFallbacks.rateLimits += counts.redisFallbacks.rateLimits
  totals.redisFallbacks.tokenLookups += counts.redisFallbacks.tokenLookups
  totals.redisFallbacks.proofs += counts.redisFallbacks.proofs
  totals.reloads.success += counts.reloads.success
  totals.reloads.failure += counts.reloads.failure
}

export function emptyRoute(): RouteCounts {
  return { requests: 0, failed: 0, seconds: 0, denied: {} }
}

export function addRoute(sum: RouteCounts, { requests, failed, seconds, denied }: RouteCounts): void {
  sum.requests += requests
  sum.failed += failed
  sum.seconds += seconds
  for (const [reason, count] of Object.entries(denied)) add(sum.denied, reason, count)
}

export function deniedCount({ denied }: Pick<RouteCounts, 'denied'>): number {
  return Object.values(denied).reduce((sum, count) => sum + count, 0)
}

function keepWorst(routes: Map<string, RouteCounts>): Map<string, RouteCounts> {
  if (routes.size <= KEPT_ROUTES) return routes
  const rank = ({ failed, requests, ...route }: RouteCounts) =>
    failed * 1e6 + deniedCount(route) * 1e3 + requests
  return new Map([...routes].toSorted(([, a], [, b]) => rank(b) - rank(a)).slice(0, KEPT_ROUTES))
}

/** Returns the values of a gauge by the value of a label. */
export function gaugesBy(gauges: MetricsJson, name: GaugeName, label: string): ReadonlyMap<string, number> {
  const values = gauges.find((metric) => metric.name === name)?.values ?? []
  return new Map(values.map(({ labels, value }) => [String(labels[label]), value]))
}

/** Returns the value of a gauge without labels, or of the series with the given labels. */
export function gaugeOf(
  gauges: MetricsJson,
  name: GaugeName,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = Object.entries(labels)
  return gauges
    .find((metric) => metric.name === name)
    ?.values.find((one) => wanted.every(([label, value]) => one.labels[label] === value))?.value
}
