import { AggregatorRegistry, type Registry } from 'prom-client'
import type { ReadinessCheck } from '../../platform/ops/ops-server.ts'
import type { MetricsJson } from './worker-messages.ts'

type Aggregated = Parameters<typeof AggregatorRegistry.aggregate>[0]

/**
 * Merge rules for series with a misleading default rule. By default, prom-client sums limits and omits the start time.
 * By default, prom-client also averages percentiles, and the idle supervisor lowers the average. With these rules, each
 * series shows the worst process. The minimum of the start times is the start time of the supervisor, the oldest
 * process.
 */
const RULES: Readonly<Record<string, 'min' | 'max'>> = {
  process_open_fds: 'max',
  process_max_fds: 'min',
  process_start_time_seconds: 'min',
  nodejs_eventloop_lag_seconds: 'max',
  nodejs_eventloop_lag_mean_seconds: 'max',
  nodejs_eventloop_lag_stddev_seconds: 'max',
  nodejs_eventloop_lag_p50_seconds: 'max',
  nodejs_eventloop_lag_p90_seconds: 'max',
  nodejs_eventloop_lag_p99_seconds: 'max',
}

/**
 * Merges the series of several processes into one registry. Adds up counters, histograms and gauges that measure an
 * amount. A gauge that describes a state sets the rule `aggregator`, such as `min` or `max`, and shows the worst
 * process.
 */
export function addMetrics(parts: readonly MetricsJson[]): Registry {
  const ruled = parts.map((part) =>
    part.map((metric) => ({ ...metric, aggregator: RULES[metric.name] ?? metric.aggregator })),
  )
  return AggregatorRegistry.aggregate(ruled as unknown as Aggregated)
}

/**
 * Returns the counters and histograms of processes. Totals still include these values after a process has exited,
 * because totals must never decrease.
 */
export async function selectCounts(parts: readonly MetricsJson[]): Promise<MetricsJson> {
  const all = await metricsOf(addMetrics(parts))
  return all.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram')
}

/** Returns the series of a registry in the form that one process sends to another. */
export async function metricsOf(registry: Registry): Promise<MetricsJson> {
  return (await registry.getMetricsAsJSON()) as unknown as MetricsJson
}

/**
 * Merges the checks of several workers by name, in the order of the first worker. If a check fails or is degraded in at
 * least one worker, the merged check is degraded. The readiness of the gateway depends only on the number of ready
 * workers.
 */
export function mergeChecks(workers: readonly (readonly ReadinessCheck[])[]): readonly ReadinessCheck[] {
  const names = new Set(workers.flatMap((checks) => checks.map(({ name }) => name)))
  return [...names].map((name) => {
    const found = workers.flatMap((checks) => checks.filter((check) => check.name === name))
    const affected = found.filter(({ ok, degraded }) => !ok || degraded === true)
    const [first] = affected
    if (first === undefined) return { name, ok: true }
    const detail = [`${affected.length} of ${workers.length} workers`, first.detail ?? 'failed'].join(': ')
    return { name, ok: true, degraded: true, detail }
  })
}
