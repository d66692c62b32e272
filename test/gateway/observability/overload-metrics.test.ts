import { Registry } from 'prom-client'
import t from 'tap'
import { OverloadMonitor } from '../../../gateway/limits/overload/overload-monitor.ts'
import { addOverloadMetrics } from '../../../gateway/observability/overload-metrics.ts'
import { seriesOf } from '../../fixtures/series-of.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

/** `loopMs` is the measured delay of the event loop. */
function overloadMetrics(loopMs: number) {
  const reading = { heap: 0.25, memory: 0.5, loop: loopMs, longestDelayMs: 1_500 }
  const monitor = new OverloadMonitor({
    limits: {
      heap: { close: 1, refuse: 1 },
      memory: { close: 1, refuse: 1 },
      loop: { close: 100, refuse: 200 },
    },
    read: () => reading,
    collectGarbage: () => undefined,
    logger: SILENT_LOGGER,
  })
  monitor.measure()
  const registry = new Registry()
  return { registry, count: addOverloadMetrics(registry, monitor) }
}

t.test('the overload level is 0, 1 or 2', async (t) => {
  for (const [loopMs, level] of [
    [99, '0'],
    [100, '1'],
    [200, '2'],
  ] as const)
    t.strictSame(await seriesOf(overloadMetrics(loopMs).registry, 'scopegate_overload_level'), [level])
})

t.test('the event loop delay is the longest delay since the previous scrape', async (t) => {
  const { registry } = overloadMetrics(1)
  t.strictSame(await seriesOf(registry, 'scopegate_event_loop_delay_seconds'), ['1.5'])
  t.strictSame(await seriesOf(registry, 'scopegate_event_loop_delay_seconds'), ['0'])
  t.strictSame(await seriesOf(registry, 'scopegate_heap_used_ratio'), ['0.25'])
  t.strictSame(await seriesOf(registry, 'scopegate_memory_used_ratio'), ['0.5'])
})

t.test('rejected requests are counted by reason', async (t) => {
  const { registry, count } = overloadMetrics(1)
  for (const reason of ['heap', 'memory', 'memory', 'loop', 'loop', 'loop'] as const) count(reason)
  t.strictSame(await seriesOf(registry, 'scopegate_overload_refused_total'), [
    '{reason="heap"} 1',
    '{reason="memory"} 2',
    '{reason="event_loop"} 3',
  ])
})
