import { AggregatorRegistry, type Registry } from 'prom-client'
import type { MetricsJson } from './worker-messages.ts'

type Aggregated = Parameters<typeof AggregatorRegistry.aggregate>[0]

/** Adds up the series of several processes, each in the way that it asks for. */
export function addMetrics(parts: readonly MetricsJson[]): Registry {
  return AggregatorRegistry.aggregate(parts as unknown as Aggregated)
}

/** What of a process's series goes on counting when the process is gone: a counter never goes back. */
export async function keepCounts(parts: readonly MetricsJson[]): Promise<MetricsJson> {
  const all = await metricsOf(addMetrics(parts))
  return all.filter(({ type }) => String(type) === 'counter' || String(type) === 'histogram')
}

/** The series of a registry as they travel between processes. */
export async function metricsOf(registry: Registry): Promise<MetricsJson> {
  return (await registry.getMetricsAsJSON()) as unknown as MetricsJson
}
