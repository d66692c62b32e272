import { collectDefaultMetrics, type Registry } from 'prom-client'

// Gauges with the suffix of counters, which `promtool check metrics` refuses. The same numbers, by kind of resource, stand
// in the series without the suffix.
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Adds the series of the process itself: CPU, memory, event loop, garbage collection. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
}
