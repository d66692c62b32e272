import { Counter, type Registry } from 'prom-client'

export type TracingMeter = {
  exported(count: number): void
  dropped(reason: 'queue_full' | 'export_failed', count: number): void
}

export function createTracingMeter(registry: Registry): TracingMeter {
  const registers = [registry]
  const exported = new Counter({
    name: 'scopegate_trace_spans_exported_total',
    help: 'Spans that the trace receiver accepted.',
    registers,
  })
  const dropped = new Counter({
    name: 'scopegate_trace_spans_dropped_total',
    help: 'Spans that were dropped because the queue was full or because the export failed.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of ['queue_full', 'export_failed']) dropped.inc({ reason }, 0)
  return {
    exported: (count) => exported.inc(count),
    dropped: (reason, count) => dropped.inc({ reason }, count),
  }
}
