import type { MetricJson, MetricSample, MetricsJson } from '../../platform/ops/metrics-format.ts'
import type { GatewayCheck } from '../observability/readiness-check.ts'

/**
 * Rules for the values of a gauge in several processes.
 * - `sum`: the gauge measures an amount of a process.
 * - `min`, `max`: the gauge describes a state or a limit. The value is the value of the worst process.
 * - `first`: all processes have the same value, and the labels contain the information.
 */
type GaugeRule = 'sum' | 'min' | 'max' | 'first'

/** The rule of each gauge of both services. The authorization server has only one process. */
export const GAUGE_RULES: Readonly<Record<string, GaugeRule>> = {
  scopegate_build_info: 'first',
  scopegate_circuit_state: 'max',
  scopegate_event_loop_delay_seconds: 'max',
  scopegate_heap_used_ratio: 'max',
  scopegate_http_requests_in_flight: 'sum',
  scopegate_introspections_in_flight: 'sum',
  scopegate_jwks_keys: 'min',
  scopegate_jwks_last_success_timestamp_seconds: 'min',
  scopegate_memory_used_ratio: 'max',
  scopegate_oauth_revocation_listeners: 'sum',
  scopegate_oauth_store_clock_difference_seconds: 'max',
  scopegate_oauth_store_writable: 'min',
  scopegate_overload_level: 'max',
  scopegate_policy_info: 'first',
  scopegate_policy_reload_success: 'min',
  scopegate_policy_routes: 'first',
  scopegate_policy_source_last_fetch_timestamp_seconds: 'min',
  scopegate_policy_source_valid: 'min',
  scopegate_rate_limit_entries: 'sum',
  scopegate_revocation_channel_up: 'min',
  scopegate_secret_file_usable: 'min',
  scopegate_tls_certificate_expiry_seconds: 'min',
  scopegate_token_cache_entries: 'sum',
  scopegate_token_stale_active: 'max',
  scopegate_upstream_certificate_expiry_seconds: 'min',
  scopegate_upstream_token_expiry_seconds: 'min',
  scopegate_upstream_connections: 'sum',
  scopegate_upstream_pending_requests: 'sum',
  scopegate_upstream_target_healthy: 'min',
  scopegate_upstream_up: 'min',
  scopegate_websocket_sessions: 'sum',
  scopegate_workers: 'sum',
  nodejs_active_handles: 'sum',
  nodejs_active_requests: 'sum',
  nodejs_active_resources: 'sum',
  nodejs_eventloop_lag_max_seconds: 'max',
  nodejs_eventloop_lag_mean_seconds: 'max',
  nodejs_eventloop_lag_min_seconds: 'min',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_stddev_seconds: 'max',
  nodejs_external_memory_bytes: 'sum',
  nodejs_heap_size_total_bytes: 'sum',
  nodejs_heap_size_used_bytes: 'sum',
  nodejs_heap_space_size_available_bytes: 'sum',
  nodejs_heap_space_size_total_bytes: 'sum',
  nodejs_heap_space_size_used_bytes: 'sum',
  nodejs_version_info: 'first',
  process_heap_bytes: 'sum',
  process_max_fds: 'min', // each process has its own limit
  process_open_fds: 'max',
  process_resident_memory_bytes: 'sum',
  process_start_time_seconds: 'min', // the start of the supervisor, which is the oldest process
  process_virtual_memory_bytes: 'sum',
}

/** Counters and histograms add up, and so does a gauge without a rule. */
const ruleOf = ({ name, type }: MetricJson): GaugeRule =>
  type === 'gauge' ? (GAUGE_RULES[name] ?? 'sum') : 'sum'

/** Merges the metrics of several processes into the metrics of one process. */
export function mergeMetrics(parts: readonly MetricsJson[]): MetricsJson {
  const merged = new Map<
    string,
    { readonly metric: MetricJson; readonly values: Map<string, MetricSample> }
  >()
  for (const metric of parts.flat()) {
    const known = merged.get(metric.name) ?? { metric, values: new Map<string, MetricSample>() }
    merged.set(metric.name, known)
    const rule = ruleOf(metric)
    for (const sample of metric.values) {
      const key = seriesKey(sample)
      const other = known.values.get(key)
      known.values.set(key, other === undefined ? sample : mergeSamples(other, sample, rule))
    }
  }
  return [...merged.values()].map(({ metric, values }) => ({ ...metric, values: [...values.values()] }))
}

const seriesKey = ({ metricName, labels }: MetricSample): string =>
  JSON.stringify([metricName, ...Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))])

function mergeSamples(a: MetricSample, b: MetricSample, rule: GaugeRule): MetricSample {
  const exemplar = (b.exemplar?.timestamp ?? 0) > (a.exemplar?.timestamp ?? 0) ? b.exemplar : a.exemplar
  return { ...a, value: MERGE[rule](a.value, b.value), exemplar }
}

const MERGE: Readonly<Record<GaugeRule, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  min: Math.min,
  max: Math.max,
  first: (a) => a,
}

/**
 * Returns the counters and histograms of a process that has exited. Totals still include these values, because totals
 * must never decrease. The trace of an exemplar remains useful.
 */
export function selectCounts(metrics: MetricsJson): MetricsJson {
  return metrics.filter(({ type }) => type !== 'gauge')
}

/**
 * Returns the counters, histograms and amounts of a process that drains. The process has requests in progress, but its
 * state is old, because it gets no new policies.
 */
export function selectAmounts(metrics: MetricsJson): MetricsJson {
  return metrics.filter((metric) => ruleOf(metric) === 'sum')
}

/**
 * Merges the checks of several workers by name, in the order of the first worker. If a check fails or is degraded in at
 * least one worker, the merged check is degraded. The readiness of the gateway depends only on the number of ready
 * workers.
 */
export function mergeChecks(workers: readonly (readonly GatewayCheck[])[]): readonly GatewayCheck[] {
  const byName = Map.groupBy(workers.flat(), ({ name }) => name)
  return [...byName.values()].flatMap((found) =>
    found.slice(0, 1).map(({ ok: _ok, degraded: _degraded, detail: _detail, ...check }) => {
      const affected = found.filter(({ ok, degraded }) => !ok || degraded === true)
      const [first] = affected
      if (first === undefined) return { ...check, ok: true }
      const detail = [`${affected.length} of ${workers.length} workers`, first.detail ?? 'failed'].join(': ')
      return { ...check, ok: true, degraded: true, detail }
    }),
  )
}
