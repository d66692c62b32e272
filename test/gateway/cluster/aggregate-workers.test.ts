import { Gauge, Registry } from 'prom-client'
import t from 'tap'
import { addMetrics, mergeChecks, metricsOf } from '../../../gateway/cluster/aggregate-workers.ts'
import { OverloadMonitor } from '../../../gateway/limits/overload/overload-monitor.ts'
import type { PressureReading } from '../../../gateway/limits/overload/read-pressure.ts'
import { createMetrics } from '../../../gateway/observability/metrics.ts'
import { createReloadMeter } from '../../../gateway/observability/reload-metrics.ts'
import { createTlsMetrics } from '../../../gateway/observability/tls-metrics.ts'
import type { CircuitState } from '../../../platform/circuit-breaker.ts'
import { createLogger } from '../../../platform/logging/logger.ts'
import { collectProcessMetrics } from '../../../platform/process/process-metrics.ts'

const ISSUER = 'https://issuer.example'
const LOGGER = createLogger({ level: 'silent', service: 'test' }, { write: () => undefined })

type WorkerFigures = {
  readonly state: CircuitState
  readonly isConnected: boolean
  /** The value of every counter and every size. */
  readonly count: number
  readonly pressure: PressureReading
  readonly level: 'normal' | 'refusing'
}

function aWorker({ state, isConnected, count, pressure, level }: WorkerFigures): Registry {
  const limit = level === 'normal' ? 1 : 0
  const monitor = new OverloadMonitor({
    limits: {
      heap: { close: limit, refuse: limit },
      memory: { close: 2, refuse: 2 },
      loop: { close: 1_000, refuse: 1_000 },
    },
    read: () => pressure,
    collectGarbage: () => undefined,
    logger: LOGGER,
  })
  monitor.measure()
  const metrics = createMetrics({
    version: '1.2.3',
    logger: LOGGER,
    overload: monitor,
  })
  metrics.register({
    pipeline: { inFlight: count },
    cache: { entries: { jwt: count, opaque: count } },
    upstreams: { active: [{ name: 'api', targets: { state } }] },
    issuers: [
      {
        issuer: ISSUER,
        keys: { confirmedAtMs: count * 1_000, size: count },
        introspector: { load: { working: count, waiting: count } },
        stale: { isActive: !isConnected },
      },
    ],
    channels: { states: () => [{ issuer: ISSUER, isConnected }] },
    rateLimiter: { size: count },
    sessions: { size: count },
  })
  const sources = [{ name: 's', state: isConnected ? 'valid' : 'kept' }] as const
  metrics.policies({ hash: 'abc', routes: [{ name: 'p/one', policy: 'p' }], sources, upstreams: [] })
  createReloadMeter(metrics.registry).reloaded(isConnected ? 'success' : 'failure')
  createTlsMetrics(metrics.registry, () => ({ expiresAtMs: count * 1_000 }))
  return metrics.registry
}

const WELL: WorkerFigures = {
  state: 'closed',
  isConnected: true,
  count: 5,
  pressure: { heap: 0.25, memory: 0.5, loop: 1, longestDelayMs: 1_000 },
  level: 'normal',
}
const ILL: WorkerFigures = {
  state: 'open',
  isConnected: false,
  count: 3,
  pressure: { heap: 0.5, memory: 0.25, loop: 1, longestDelayMs: 2_000 },
  level: 'refusing',
}

/**
 * The merged value of every gauge of Scopegate for two workers. The values do not depend on the order of the workers.
 */
const EXPECTED: Readonly<Record<string, number>> = {
  scopegate_build_info: 1,
  scopegate_circuit_state: 2,
  scopegate_event_loop_delay_seconds: 2,
  scopegate_heap_used_ratio: 0.5,
  scopegate_http_requests_in_flight: 8,
  scopegate_introspections_in_flight: 8,
  scopegate_jwks_keys: 3,
  scopegate_jwks_last_success_timestamp_seconds: 3,
  scopegate_memory_used_ratio: 0.5,
  scopegate_overload_level: 2,
  scopegate_policy_info: 1,
  scopegate_policy_reload_success: 0,
  scopegate_policy_routes: 1,
  scopegate_policy_source_valid: 0,
  scopegate_rate_limit_entries: 8,
  scopegate_revocation_channel_up: 0,
  scopegate_tls_certificate_expiry_seconds: 3,
  scopegate_token_cache_entries: 8,
  scopegate_token_stale_active: 1,
  scopegate_upstream_up: 0,
  scopegate_websocket_sessions: 8,
}

for (const [order, workers] of [
  ['the healthy worker first', [WELL, ILL]],
  ['the failing worker first', [ILL, WELL]],
] as const)
  t.test(
    `addMetrics() shows amounts as sums and states as the value of the worst worker, ${order}`,
    async (t) => {
      const parts = await Promise.all(workers.map((worker) => metricsOf(aWorker(worker))))
      const gauges = (await metricsOf(addMetrics(parts))).filter(
        ({ name, type }) => String(type) === 'gauge' && name.startsWith('scopegate_'),
      )
      const shown = gauges.map(({ name, values }) => [name, [...new Set(values.map(({ value }) => value))]])
      const expected = Object.entries(EXPECTED).map(([name, value]) => [name, [value]])
      t.strictSame(Object.fromEntries(shown), Object.fromEntries(expected))
    },
  )

t.test('addMetrics() shows the worst process where prom-client shows a sum or a mean', async (t) => {
  const ofProcess = async (values: Readonly<Record<string, number>>) => {
    const registry = new Registry()
    for (const [name, value] of Object.entries(values))
      new Gauge({ name, help: name, registers: [registry] }).set(value)
    return metricsOf(registry)
  }
  const shown = await addMetrics([
    await ofProcess({ process_open_fds: 10, process_max_fds: 1_000, process_start_time_seconds: 100 }),
    await ofProcess({ process_open_fds: 900, process_max_fds: 1_024, process_start_time_seconds: 200 }),
  ]).getMetricsAsJSON()
  t.strictSame(Object.fromEntries(shown.map(({ name, values }) => [name, values[0]?.value])), {
    process_open_fds: 900,
    process_max_fds: 1_000,
    process_start_time_seconds: 100,
  })
})

t.test('every gauge of Node.js and of the process has an explicit aggregation', async (t) => {
  const registry = new Registry()
  collectProcessMetrics(registry, LOGGER)
  const parts = await metricsOf(registry)
  const added = await metricsOf(addMetrics([parts, parts]))
  const rules = added
    .filter(({ type }) => String(type) === 'gauge')
    .map(({ name, aggregator }) => [name, String(aggregator)] as const)
  t.ok(rules.some(([name]) => name === 'process_start_time_seconds'))
  const expected: Readonly<Record<string, string>> = {
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
    process_max_fds: 'min',
    process_open_fds: 'max',
    process_resident_memory_bytes: 'sum',
    process_start_time_seconds: 'min',
    process_virtual_memory_bytes: 'sum',
  }
  // Compares only the metrics of this operating system.
  t.strictSame(
    rules,
    rules.map(([name]) => [name, expected[name]]),
  )
})

t.test('mergeChecks() counts the workers in which a check fails or is degraded', (t) => {
  t.strictSame(
    mergeChecks([
      [
        { name: 'keys', ok: false, detail: 'never fetched' },
        { name: 'redis', ok: true },
        { name: 'event_loop', ok: true, detail: 'of one worker alone' },
      ],
      [
        { name: 'keys', ok: true },
        { name: 'redis', ok: true, degraded: true, detail: 'no connection' },
        { name: 'event_loop', ok: true },
        { name: 'revocations', ok: true, degraded: true, detail: 'they do not arrive' },
      ],
      [
        { name: 'keys', ok: true, degraded: true, detail: 'not fetched since' },
        { name: 'redis', ok: true, degraded: true, detail: 'it does not respond' },
        { name: 'event_loop', ok: true },
      ],
    ]),
    [
      { name: 'keys', ok: true, degraded: true, detail: '2 of 3 workers: never fetched' },
      { name: 'redis', ok: true, degraded: true, detail: '2 of 3 workers: no connection' },
      { name: 'event_loop', ok: true },
      { name: 'revocations', ok: true, degraded: true, detail: '1 of 3 workers: they do not arrive' },
    ],
  )
  t.strictSame(mergeChecks([]), [], 'no worker has responded')
  t.strictSame(mergeChecks([[{ name: 'a', ok: false }]]), [
    { name: 'a', ok: true, degraded: true, detail: '1 of 1 workers: failed' },
  ])
  t.end()
})
