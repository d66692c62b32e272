import { Registry } from 'prom-client'
import t from 'tap'
import {
  GAUGE_RULES,
  mergeChecks,
  mergeMetrics,
  selectAmounts,
} from '../../../gateway/cluster/aggregate-workers.ts'
import { OverloadMonitor } from '../../../gateway/limits/overload/overload-monitor.ts'
import type { PressureReading } from '../../../gateway/limits/overload/read-pressure.ts'
import { createMetrics } from '../../../gateway/observability/metrics.ts'
import { createReloadMeter } from '../../../gateway/observability/reload-metrics.ts'
import { createClientCertificateMeter, createTlsMetrics } from '../../../gateway/observability/tls-metrics.ts'
import { createUpstreamTokenMeters } from '../../../gateway/observability/upstream-token-metrics.ts'
import type { CircuitState } from '../../../platform/circuit-breaker.ts'
import { type MetricJson, type MetricsJson, metricsOf } from '../../../platform/ops/metrics-format.ts'
import { collectProcessMetrics } from '../../../platform/process/process-metrics.ts'
import { listRepositoryFiles, readRepositoryFile } from '../../fixtures/repository-texts.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

const ISSUER = 'https://issuer.example'
/** The definition of a gauge: the class of prom-client, or one of the local functions that create gauges. */
const GAUGE_DEFINITION = /(?:new Gauge\(\{\s*name: |\b(?:whenRead|ofEach|gauge)\(\s*)'(scopegate_\w+)'/g
const LOGGER = SILENT_LOGGER

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
    upstreams: {
      active: [
        {
          name: 'api',
          targets: {
            state,
            openConnections: 4,
            health: [{ target: 'http://a', isHealthy: state === 'closed' }],
          },
          queue: { size: 4 },
        },
      ],
    },
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
    policySources: [{ name: 's', lastFetchFile: isConnected ? import.meta.filename : '/nonexistent' }],
  })
  const sources = [{ name: 's', state: isConnected ? 'valid' : 'kept' }] as const
  metrics.policies({ hash: 'abc', routes: [{ name: 'p/one', policy: 'p' }], sources, upstreams: [] })
  createReloadMeter(metrics.registry).reloaded(isConnected ? 'success' : 'failure')
  createTlsMetrics(metrics.registry, () => ({ expiresAtMs: count * 1_000 }))
  createUpstreamTokenMeters(metrics.registry)('api').expiresAt(1_000 * count)
  createClientCertificateMeter(metrics.registry).follow('api', () => 1_000 * count)
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
  scopegate_policy_source_last_fetch_timestamp_seconds: 0,
  scopegate_policy_source_valid: 0,
  scopegate_rate_limit_entries: 8,
  scopegate_revocation_channel_up: 0,
  scopegate_tls_certificate_expiry_seconds: 3,
  scopegate_token_cache_entries: 8,
  scopegate_token_stale_active: 1,
  scopegate_upstream_certificate_expiry_seconds: 3,
  scopegate_upstream_connections: 8,
  scopegate_upstream_pending_requests: 8,
  scopegate_upstream_target_healthy: 0,
  scopegate_upstream_token_expiry_seconds: 3,
  scopegate_upstream_up: 0,
  scopegate_websocket_sessions: 8,
}

for (const [order, workers] of [
  ['the healthy worker first', [WELL, ILL]],
  ['the failing worker first', [ILL, WELL]],
] as const)
  t.test(
    `mergeMetrics() shows amounts as sums and states as the value of the worst worker, ${order}`,
    async (t) => {
      const parts = await Promise.all(workers.map((worker) => metricsOf(aWorker(worker))))
      const gauges = mergeMetrics(parts).filter(
        ({ name, type }) => type === 'gauge' && name.startsWith('scopegate_'),
      )
      const shown = gauges.map(({ name, values }) => [name, [...new Set(values.map(({ value }) => value))]])
      const expected = Object.entries(EXPECTED).map(([name, value]) => [name, [value]])
      t.strictSame(Object.fromEntries(shown), Object.fromEntries(expected))
    },
  )

t.test('mergeMetrics() shows the worst process where a sum or a mean would be wrong', async (t) => {
  const ofProcess = (values: Readonly<Record<string, number>>): MetricsJson =>
    Object.entries(values).map(([name, value]) => gauge(name, value))
  const shown = mergeMetrics([
    ofProcess({ process_open_fds: 10, process_max_fds: 1_000, process_start_time_seconds: 100 }),
    ofProcess({ process_open_fds: 900, process_max_fds: 1_024, process_start_time_seconds: 200 }),
  ])
  t.strictSame(Object.fromEntries(shown.map(({ name, values }) => [name, values[0]?.value])), {
    process_open_fds: 900,
    process_max_fds: 1_000,
    process_start_time_seconds: 100,
  })
})

const gauge = (name: string, value: number): MetricJson => ({
  name,
  help: name,
  type: 'gauge',
  values: [{ labels: {}, value }],
})

t.test(
  'mergeMetrics() finds a series by its labels in any order, and keeps the newest exemplar',
  async (t) => {
    const bucket = (labels: Record<string, string | number>, value: number, trace?: [string, number]) => ({
      name: 'seconds',
      help: 'Seconds.',
      type: 'histogram',
      values: [
        {
          metricName: 'seconds_bucket',
          labels,
          value,
          exemplar: trace && { labelSet: { trace_id: trace[0] }, value: 0.5, timestamp: trace[1] },
        },
      ],
    })
    const parts = [
      [bucket({ le: 1, route: 'a' }, 1, ['old', 1])],
      [bucket({ route: 'a', le: 1 }, 2, ['new', 2])],
      [bucket({ le: 1, route: 'a' }, 4)],
      [bucket({ le: 2.5, route: 'a' }, 8)],
    ]
    for (const order of [parts, parts.toReversed()]) {
      const shown = mergeMetrics(order)[0]?.values.map(({ labels, value, exemplar }) => [
        labels['le'],
        value,
        exemplar?.labelSet,
      ])
      t.strictSame(
        new Set(shown),
        new Set([
          [1, 7, { trace_id: 'new' }],
          [2.5, 8, undefined],
        ]),
      )
    }
  },
)

t.test(
  'selectAmounts() keeps the amounts and totals of a draining worker, and drops its state',
  async (t) => {
    const kept = selectAmounts([
      { ...gauge('requests_total', 5), type: 'counter' },
      gauge('scopegate_http_requests_in_flight', 2),
      gauge('scopegate_policy_info', 1),
      gauge('scopegate_upstream_up', 0),
      gauge('scopegate_overload_level', 2),
    ])
    t.strictSame(
      kept.map(({ name }) => name),
      ['requests_total', 'scopegate_http_requests_in_flight'],
    )
  },
)

t.test('each gauge of Scopegate and of the process has a rule, and each rule has a gauge', async (t) => {
  const sources = listRepositoryFiles().filter((path) =>
    /^(?:gateway|authorization-server|platform)\/.*\.ts$/.test(path),
  )
  const own = sources.flatMap((path) =>
    [...readRepositoryFile(path).matchAll(GAUGE_DEFINITION)].map(([, name = '']) => name),
  )
  const registry = new Registry()
  collectProcessMetrics(registry, LOGGER)
  const ofProcess = (await metricsOf(registry)).filter(({ type }) => type === 'gauge')
  const linuxOnly = [
    'process_heap_bytes',
    'process_max_fds',
    'process_open_fds',
    'process_virtual_memory_bytes',
  ]
  const gauges = new Set([...own, ...ofProcess.map(({ name }) => name), ...linuxOnly])
  t.ok(gauges.has('scopegate_upstream_up') && gauges.has('scopegate_oauth_store_writable'))
  t.strictSame([...gauges].toSorted(), Object.keys(GAUGE_RULES).toSorted())
})

t.test('mergeChecks() counts the workers in which a check fails or is degraded', (t) => {
  t.strictSame(
    mergeChecks([
      [
        { kind: 'issuer_keys', name: 'keys', ok: false, detail: 'never fetched' },
        { kind: 'redis', name: 'redis', ok: true },
        { kind: 'event_loop', name: 'event_loop', ok: true, detail: 'of one worker alone' },
      ],
      [
        { kind: 'issuer_keys', name: 'keys', ok: true },
        { kind: 'redis', name: 'redis', ok: true, degraded: true, detail: 'no connection' },
        { kind: 'event_loop', name: 'event_loop', ok: true },
        {
          kind: 'revocation_stream',
          name: 'revocations',
          ok: true,
          degraded: true,
          detail: 'they do not arrive',
        },
      ],
      [
        { kind: 'issuer_keys', name: 'keys', ok: true, degraded: true, detail: 'not fetched since' },
        { kind: 'redis', name: 'redis', ok: true, degraded: true, detail: 'it does not respond' },
        { kind: 'event_loop', name: 'event_loop', ok: true },
      ],
    ]),
    [
      {
        kind: 'issuer_keys',
        name: 'keys',
        ok: true,
        degraded: true,
        detail: '2 of 3 workers: never fetched',
      },
      { kind: 'redis', name: 'redis', ok: true, degraded: true, detail: '2 of 3 workers: no connection' },
      { kind: 'event_loop', name: 'event_loop', ok: true },
      {
        kind: 'revocation_stream',
        name: 'revocations',
        ok: true,
        degraded: true,
        detail: '1 of 3 workers: they do not arrive',
      },
    ],
  )
  t.strictSame(mergeChecks([]), [], 'no worker has responded')
  t.strictSame(mergeChecks([[{ kind: 'policy_source', name: 'a', source: 's', ok: false }]]), [
    {
      kind: 'policy_source',
      name: 'a',
      source: 's',
      ok: true,
      degraded: true,
      detail: '1 of 1 workers: failed',
    },
  ])
  t.end()
})
