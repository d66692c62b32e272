import { Gauge, type Registry } from 'prom-client'
import type { OverloadLevel, OverloadReason } from '../limits/overload/overload-level.ts'
import type { OverloadMonitor } from '../limits/overload/overload-monitor.ts'
import { BufferedCounter } from './buffered-counter.ts'

/** The index of a level is the value of `scopegate_overload_level`. */
const LEVELS: readonly OverloadLevel['level'][] = ['normal', 'closing', 'refusing']
const REASONS = { heap: 'heap', memory: 'memory', loop: 'event_loop' } as const
const MS_PER_SECOND = 1_000

/**
 * Registers the metrics of overload.
 * @returns a function that counts a rejected request.
 */
export function addOverloadMetrics(
  registry: Registry,
  monitor: OverloadMonitor,
): (reason: OverloadReason) => void {
  const registers = [registry]
  const rejected = new BufferedCounter({
    name: 'scopegate_overload_refused_total',
    help: 'Requests rejected because of overload.',
    labelNames: ['reason'],
    registers,
  })
  const children = {
    heap: rejected.child({ reason: REASONS.heap }),
    memory: rejected.child({ reason: REASONS.memory }),
    loop: rejected.child({ reason: REASONS.loop }),
  }
  const gauge = (name: string, help: string, value: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value())
      },
    })
  }
  gauge(
    'scopegate_overload_level',
    '0 normal, 1 connections close after each response, 2 requests are rejected.',
    () => LEVELS.indexOf(monitor.level),
  )
  gauge(
    'scopegate_heap_used_ratio',
    'Used part of the JavaScript heap limit after the last full garbage collection.',
    () => monitor.reading.heap,
  )
  gauge(
    'scopegate_memory_used_ratio',
    "Used part of this process's share of the container memory; 0 without a limit.",
    () => monitor.reading.memory,
  )
  gauge(
    'scopegate_event_loop_delay_seconds',
    'Longest delay of the event loop since the previous scrape.',
    () => monitor.takeLongestDelayMs() / MS_PER_SECOND,
  )
  return (reason) => children[reason].inc()
}
