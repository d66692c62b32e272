import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import { droppedLines, type Logger } from '../logging/logger.ts'
import { uncaughtExceptions } from './uncaught-exceptions.ts'

// These gauges have the suffix of counters, so `promtool check metrics` rejects them. The series without the suffix
// contain the same numbers, by type of resource.
const MISNAMED_METRICS = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

export type ProcessMetrics = {
  /** Counts an exception that ended a request. */
  readonly requestBroke: () => void
}

/**
 * Registers the metrics of the process: CPU, memory, event loop, garbage collection, dropped log lines and exceptions.
 */
export function collectProcessMetrics(registry: Registry, logger: Logger): ProcessMetrics {
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED_METRICS) registry.removeSingleMetric(name)
  const registers = [registry]
  let requests = 0
  new Counter({
    name: 'scopegate_log_lines_dropped_total',
    help: 'Log lines that were dropped because the reader was too slow.',
    registers,
    collect() {
      this.reset()
      this.inc(droppedLines(logger))
    },
  })
  new Counter({
    name: 'scopegate_uncaught_total',
    help: 'Unexpected exceptions, by the place where they were caught.',
    labelNames: ['where'],
    registers,
    collect() {
      this.reset()
      this.inc({ where: 'request' }, requests)
      this.inc({ where: 'process' }, uncaughtExceptions())
    },
  })
  return {
    requestBroke: () => {
      requests += 1
    },
  }
}

/** Registers the gauge with the running version of a service. */
export function registerBuildInfo(
  registry: Registry,
  { service, version }: { service: string; version: string },
): void {
  new Gauge({
    name: 'scopegate_build_info',
    help: '1 for the running version.',
    labelNames: ['service', 'version', 'node'],
    registers: [registry],
  }).set({ service, version, node: process.version }, 1)
}
