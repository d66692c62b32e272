import { Counter, collectDefaultMetrics, type Registry } from 'prom-client'
import { droppedLines, type Logger } from '../logging/logger.ts'
import { exceptionsSurvived } from './survive-exceptions.ts'

// Gauges with the suffix of counters, which `promtool check metrics` refuses. The same numbers, by kind of resource, stand
// in the series without the suffix.
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** What is counted of a process by those who see it happen. */
export type ProcessMetrics = {
  /** Counts an exception that one request ended with. */
  readonly requestBroke: () => void
}

/** Adds the series of the process itself: CPU, memory, event loop, garbage collection, what was lost and what went wrong. */
export function collectProcessMetrics(registry: Registry, logger: Logger): ProcessMetrics {
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const registers = [registry]
  let requests = 0
  new Counter({
    name: 'scopegate_log_lines_dropped_total',
    help: 'Lines of the log that were never written: nobody took them.',
    registers,
    collect() {
      this.reset()
      this.inc(droppedLines(logger))
    },
  })
  new Counter({
    name: 'scopegate_uncaught_total',
    help: 'Exceptions that nobody expected: the ones that a request ended with, and those that belong to none.',
    labelNames: ['where'],
    registers,
    collect() {
      this.reset()
      this.inc({ where: 'request' }, requests)
      this.inc({ where: 'process' }, exceptionsSurvived())
    },
  })
  return {
    requestBroke: () => {
      requests += 1
    },
  }
}
