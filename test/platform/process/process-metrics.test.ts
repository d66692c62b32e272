import { Registry } from 'prom-client'
import t from 'tap'
import { LogSink } from '../../../platform/logging/log-sink.ts'
import { createLogger, writeLines } from '../../../platform/logging/logger.ts'
import { collectProcessMetrics } from '../../../platform/process/process-metrics.ts'
import { handleUncaughtExceptions } from '../../../platform/process/uncaught-exceptions.ts'

t.test(
  'collectProcessMetrics() counts dropped lines and exceptions, and collects the metrics of Node.js',
  async (t) => {
    const sink = new LogSink({ write: () => undefined, heldCharacters: 1, notice: () => '', tickMs: () => 0 })
    const logger = createLogger({ level: 'info', service: 'test' }, sink)
    const registry = new Registry()
    const { requestBroke } = collectProcessMetrics(registry, logger)
    const own = async (): Promise<string> =>
      [
        await registry.getSingleMetricAsString('scopegate_log_lines_dropped_total'),
        await registry.getSingleMetricAsString('scopegate_uncaught_total'),
      ].join('\n')
    const text = (dropped: number, request: number, process: number): string =>
      `# HELP scopegate_log_lines_dropped_total Log lines that were dropped because the reader was too slow.
# TYPE scopegate_log_lines_dropped_total counter
scopegate_log_lines_dropped_total ${dropped}
# HELP scopegate_uncaught_total Unexpected exceptions, by the place where they were caught.
# TYPE scopegate_uncaught_total counter
scopegate_uncaught_total{where="request"} ${request}
scopegate_uncaught_total{where="process"} ${process}`
    t.equal(await own(), text(0, 0, 0))
    writeLines(logger)('two\nlines\n')
    requestBroke()
    requestBroke()
    requestBroke()
    t.equal(await own(), text(2, 3, 0))
    t.equal(await own(), text(2, 3, 0), 'reading does not count twice')

    const names = registry.getMetricsAsArray().map(({ name }) => name)
    t.match(names, new Set(names))
    for (const name of [
      'process_cpu_user_seconds_total',
      'nodejs_eventloop_lag_seconds',
      'nodejs_gc_duration_seconds',
    ])
      t.ok(names.includes(name), name)
    for (const name of ['nodejs_active_handles', 'nodejs_active_requests', 'nodejs_active_resources']) {
      t.ok(names.includes(name), name)
      t.notOk(names.includes(`${name}_total`), `${name}_total`)
    }
  },
)

t.test('handleUncaughtExceptions() counts and logs each exception, and reports the first one', async (t) => {
  const lines: Record<string, unknown>[] = []
  const logger = createLogger(
    { level: 'info', service: 'test' },
    { write: (line) => lines.push(JSON.parse(line)) },
  )
  const before = process.listeners('uncaughtException')
  const reasons: string[] = []
  handleUncaughtExceptions(logger, (reason) => reasons.push(reason))
  handleUncaughtExceptions(logger)
  const added = process.listeners('uncaughtException').filter((one) => !before.includes(one))
  t.teardown(() => {
    for (const one of added) process.removeListener('uncaughtException', one)
  })
  t.equal(added.length, 2)
  const [reporting, plain] = added
  reporting?.(new Error('one'), 'uncaughtException')
  reporting?.(new Error('two'), 'unhandledRejection')
  plain?.(new Error('three'), 'uncaughtException')
  t.strictSame(reasons, ['uncaught exception'])
  t.match(lines, [
    {
      event: 'uncaught_exception',
      origin: 'uncaughtException',
      err: { message: 'one' },
      msg: 'a defect: please report it',
    },
    { origin: 'unhandledRejection', err: { message: 'two' } },
    { origin: 'uncaughtException', err: { message: 'three' } },
  ])
  const registry = new Registry()
  collectProcessMetrics(registry, logger)
  t.match(await registry.getSingleMetricAsString('scopegate_uncaught_total'), /\{where="process"\} 3$/)
})
