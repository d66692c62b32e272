import type { Registry } from 'prom-client'
import { HTTP_BUCKETS } from '../../platform/http-labels.ts'
import type { BufferedHistogram } from '../../platform/ops/buffered-histogram.ts'
import type { MetricJson, MetricSample, MetricsJson } from '../../platform/ops/metrics-format.ts'
import type { Sampled } from '../observability/buffered-counter.ts'
import type { SharedLookupResult } from '../tokens/cache/shared-cache.ts'

type Labels = Readonly<Record<string, string>>

/** Counts of one route since the last sample. */
export type RouteCounts = {
  requests: number
  /** Responses with a status of 500 or higher. */
  failed: number
  /** Total time of the requests. Seconds. */
  seconds: number
  /** Denials and challenges by reason. */
  denied: Record<string, number>
}

/** Counts of one upstream since the last sample. */
export type UpstreamCounts = {
  responses: number
  /** Responses with a status of 500 or higher. */
  failed: number
  seconds: number
  /** Requests without a complete response, by reason. */
  errors: Record<string, number>
}

export type IssuerCounts = { answered: number; failed: number }

/** Operations that a process did without Redis, although Redis is configured. */
export type RedisFallbacks = { rateLimits: number; tokenLookups: number; proofs: number }

export type ReloadCounts = { success: number; failure: number }

/** The changes of the counters of one process since its last sample. Plain data that processes can send. */
export type Counts = {
  /** Only the routes that changed, by name. */
  routes: [string, RouteCounts][]
  upstreams: [string, UpstreamCounts][]
  /** Introspection requests by issuer. */
  issuers: [string, IssuerCounts][]
  /** Requests by duration. The bounds are `HTTP_BUCKETS`; the last number is the count above the last bound. */
  latency: number[]
  cacheHits: number
  cacheMisses: number
  revocations: number
  revocationGaps: number
  redisFallbacks: RedisFallbacks
  /** Reloads of policies. */
  reloads: ReloadCounts
}

export type Sample = {
  readonly counts: Counts
  /** The values of {@link GAUGES}. */
  readonly gauges: MetricsJson
}

/** The counters and histograms of a sample. */
const METRICS = {
  requestDurations: 'scopegate_http_request_duration_seconds',
  upstreamDurations: 'scopegate_upstream_request_duration_seconds',
  decisions: 'scopegate_auth_decisions_total',
  upstreamErrors: 'scopegate_upstream_errors_total',
  introspections: 'scopegate_introspections_total',
  cacheHits: 'scopegate_token_cache_hits_total',
  cacheMisses: 'scopegate_token_cache_misses_total',
  revocations: 'scopegate_revocations_received_total',
  revocationGaps: 'scopegate_revocation_gaps_total',
  rateLimitFallbacks: 'scopegate_rate_limit_fallback_total',
  sharedCacheLookups: 'scopegate_token_shared_cache_total',
  proofFallbacks: 'scopegate_dpop_replay_fallback_total',
  reloads: 'scopegate_policy_reloads_total',
} as const

/** Results of a lookup in the shared token cache that Redis did not answer. */
const WITHOUT_REDIS: readonly unknown[] = ['failed', 'open', 'away'] satisfies readonly SharedLookupResult[]

/** The gauges of a sample. A gauge that a scrape resets must not be in this list. */
export const GAUGES = {
  requestsInFlight: 'scopegate_http_requests_in_flight',
  websocketSessions: 'scopegate_websocket_sessions',
  upstreamUp: 'scopegate_upstream_up',
  circuitState: 'scopegate_circuit_state',
  upstreamConnections: 'scopegate_upstream_connections',
  upstreamPending: 'scopegate_upstream_pending_requests',
  targetHealthy: 'scopegate_upstream_target_healthy',
  issuerKeys: 'scopegate_jwks_keys',
  keysFetchedSeconds: 'scopegate_jwks_last_success_timestamp_seconds',
  introspectionsInFlight: 'scopegate_introspections_in_flight',
  staleActive: 'scopegate_token_stale_active',
  revocationChannelUp: 'scopegate_revocation_channel_up',
  cacheEntries: 'scopegate_token_cache_entries',
  overloadLevel: 'scopegate_overload_level',
} as const

export type GaugeName = (typeof GAUGES)[keyof typeof GAUGES]

/**
 * Creates a function that reads the existing counters and returns their changes since the last call. Between the calls,
 * this function causes no work. A process has one sampler, because a metric has one last value.
 */
export function createSampler(registry: Registry): () => Promise<Sample> {
  const totals = new Map<string, number>()

  async function values(name: string): Promise<readonly MetricSample[]> {
    const metric = registry.getSingleMetric(name)
    return metric === undefined ? [] : ((await metric.get()) as unknown as MetricJson).values
  }

  function increases(name: string, visit: Parameters<Sampled['takeIncreases']>[0]): void {
    const metric = registry.getSingleMetric(name) as unknown as Sampled | undefined
    metric?.takeIncreases(visit)
  }

  function durations(name: string, visit: Parameters<BufferedHistogram<string>['takeIncreases']>[0]): void {
    const metric = registry.getSingleMetric(name) as unknown as BufferedHistogram<string> | undefined
    metric?.takeIncreases(visit)
  }

  function increase(name: string, matches: (labels: Labels) => boolean = () => true): number {
    let sum = 0
    increases(name, (labels, count) => {
      if (matches(labels)) sum += count
    })
    return sum
  }

  /**
   * Returns the increase of a counter of prom-client, which has few series.
   * @param result counts only the series with this value of the label `result`.
   */
  async function increaseOfTotal(name: string, result?: string): Promise<number> {
    const total = (await values(name))
      .filter(({ labels }) => result === undefined || labels['result'] === result)
      .reduce((sum, { value }) => sum + value, 0)
    const key = `${name} ${result}`
    const before = totals.get(key) ?? 0
    totals.set(key, total)
    return Math.max(0, total - before)
  }

  return async () => {
    const routes = new Map<string, RouteCounts>()
    const upstreams = new Map<string, UpstreamCounts>()
    const issuers = new Map<string, IssuerCounts>()
    const latency = [...HTTP_BUCKETS, 0].map(() => 0)
    const routeOf = (labels: Labels) =>
      entry(routes, String(labels['route']), () => ({ requests: 0, failed: 0, seconds: 0, denied: {} }))
    const upstreamOf = (labels: Labels) =>
      entry(upstreams, String(labels['upstream']), () => ({
        responses: 0,
        failed: 0,
        seconds: 0,
        errors: {},
      }))

    durations(METRICS.requestDurations, (labels, { count, sum, buckets }) => {
      const route = routeOf(labels)
      route.requests += count
      route.seconds += sum
      if (labels['code_class'] === '5xx') route.failed += count
      let above = count
      for (const [index, inBucket] of buckets.entries()) {
        latency[index] = (latency[index] ?? 0) + inBucket
        above -= inBucket
      }
      latency[buckets.length] = (latency[buckets.length] ?? 0) + above
    })
    durations(METRICS.upstreamDurations, (labels, { count, sum }) => {
      const upstream = upstreamOf(labels)
      upstream.responses += count
      upstream.seconds += sum
      if (labels['code_class'] === '5xx') upstream.failed += count
    })
    increases(METRICS.decisions, (labels, count) => {
      if (labels['decision'] !== 'allow') add(routeOf(labels).denied, String(labels['reason']), count)
    })
    increases(METRICS.upstreamErrors, (labels, count) =>
      add(upstreamOf(labels).errors, String(labels['reason']), count),
    )
    increases(METRICS.introspections, (labels, count) => {
      const issuer = entry(issuers, String(labels['issuer']), () => ({ answered: 0, failed: 0 }))
      issuer[labels['result'] === 'answered' ? 'answered' : 'failed'] += count
    })
    const gauges = await Promise.all(
      Object.values(GAUGES).map(
        async (name): Promise<MetricJson> => ({
          name,
          help: '',
          type: 'gauge',
          values: (await values(name)).map(({ labels, value }) => ({ labels, value })),
        }),
      ),
    )
    return {
      counts: {
        routes: [...routes],
        upstreams: [...upstreams],
        issuers: [...issuers],
        latency,
        cacheHits: increase(METRICS.cacheHits),
        cacheMisses: increase(METRICS.cacheMisses),
        revocations: await increaseOfTotal(METRICS.revocations),
        revocationGaps: await increaseOfTotal(METRICS.revocationGaps),
        redisFallbacks: {
          rateLimits: increase(METRICS.rateLimitFallbacks),
          tokenLookups: increase(METRICS.sharedCacheLookups, ({ result }) => WITHOUT_REDIS.includes(result)),
          proofs: await increaseOfTotal(METRICS.proofFallbacks),
        },
        reloads: {
          success: await increaseOfTotal(METRICS.reloads, 'success'),
          failure: await increaseOfTotal(METRICS.reloads, 'failure'),
        },
      },
      gauges,
    }
  }
}

/** Returns the entry of a key, and creates the entry if it is missing. */
export function entry<V>(map: Map<string, V>, key: string, create: () => V): V {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const created = create()
  map.set(key, created)
  return created
}

/** Adds a count. The keys are the reasons of metrics, which have a fixed set of values. */
export function add(counts: Record<string, number>, key: string, count: number): void {
  counts[key] = (counts[key] ?? 0) + count
}
