import t from 'tap'
import { OverloadMonitor } from '../../../gateway/limits/overload/overload-monitor.ts'
import { createMetrics } from '../../../gateway/observability/metrics.ts'
import { createReloadMeter } from '../../../gateway/observability/reload-metrics.ts'
import { createTlsMetrics } from '../../../gateway/observability/tls-metrics.ts'
import { createLogger } from '../../../platform/logging/logger.ts'

const ISSUER = 'https://issuer.example'

/** The registry of a gateway in which each meter counted, with different numbers. */
function aRegistry() {
  const logger = createLogger({ level: 'silent', service: 'test' }, { write: () => undefined })
  const monitor = new OverloadMonitor({
    limits: {
      heap: { close: 1, refuse: 1 },
      memory: { close: 2, refuse: 2 },
      loop: { close: 1_000, refuse: 1_000 },
    },
    read: () => ({ heap: 0.25, memory: 0.5, loop: 1, longestTurnMs: 3_000 }),
    collectGarbage: () => undefined,
    logger,
  })
  monitor.look()
  const metrics = createMetrics({
    version: '1.2.3',
    logger,
    overload: () => monitor,
    inFlight: () => 2,
    cacheEntries: () => ({ jwt: 3, opaque: 4 }),
    upstreams: () => [{ name: 'api', state: 'half_open' }],
    issuers: () => [
      {
        issuer: ISSUER,
        keys: { confirmedAtMs: 5_000, size: 6 },
        introspector: { load: { working: 7, waiting: 8 } },
      },
    ],
    heardIssuers: () => [{ issuer: ISSUER, isHeard: true }],
    rateLimitEntries: () => 9,
    websocketSessions: () => 10,
  })
  metrics.policies({ hash: 'abc', routes: [{ name: 'p/one', policy: 'p' }] })
  const route = metrics.route('p/one')
  route.finished('GET', 200, 0.01)
  route.decided({ decision: 'allow', reason: 'ok' })
  route.reported({ decision: 'deny', reason: 'insufficient_scope' })
  route.rateLimited('limited')
  route.sessionEnded(1000)
  const upstream = metrics.upstream('api')
  upstream.answered(503, 0.01)
  upstream.failed('reset')
  upstream.retried()
  metrics.tokens.hit('jwt')
  metrics.tokens.miss('opaque')
  metrics.tokens.validated('jwt', 'hit', 0.01)
  const issuer = metrics.issuer(ISSUER)
  issuer.introspected('ERR_INTROSPECTION_TIMEOUT')
  issuer.sharedLookUp('stale')
  issuer.refreshed('ok')
  issuer.dropped('too_many')
  metrics.rateLimitFallback('failed')
  metrics.proofAlone()
  metrics.connectionRefused()
  metrics.overloaded('loop')
  metrics.requestBroke()
  metrics.revocations(3)
  metrics.revocationsMissed()
  const reloads = createReloadMeter(metrics.registry)
  reloads.reloaded('failure')
  const tls = createTlsMetrics(metrics.registry, () => ({ expiresAtMs: 11_000 }))
  tls.handshakeFailed('plain_http')
  tls.reloaded('success')
  return metrics.registry
}

/**
 * The type of each metric, and its series without the buckets of histograms. A literal copy, independent of the code.
 */
const EXPECTED: Readonly<Record<string, readonly [type: string, ...series: string[]]>> = {
  scopegate_auth_decisions_total: ['counter', '{route="p/one",decision="allow",reason="ok"} 1'],
  scopegate_auth_reported_total: ['counter', '{route="p/one",decision="deny",reason="insufficient_scope"} 1'],
  scopegate_build_info: ['gauge', `{version="1.2.3",node="${process.version}"} 1`],
  scopegate_circuit_state: ['gauge', '{upstream="api"} 1'],
  scopegate_connections_refused_total: ['counter', ' 1'],
  scopegate_dpop_replay_fallback_total: ['counter', ' 1'],
  scopegate_event_loop_delay_seconds: ['gauge', ' 3'],
  scopegate_heap_used_ratio: ['gauge', ' 0.25'],
  scopegate_http_request_duration_seconds: [
    'histogram',
    '_sum{route="p/one",method="GET",code_class="2xx"} 0.01',
    '_count{route="p/one",method="GET",code_class="2xx"} 1',
  ],
  scopegate_http_requests_in_flight: ['gauge', ' 2'],
  scopegate_http_requests_total: ['counter', '{route="p/one",method="GET",code="200"} 1'],
  scopegate_introspections_in_flight: [
    'gauge',
    `{issuer="${ISSUER}",state="working"} 7`,
    `{issuer="${ISSUER}",state="waiting"} 8`,
  ],
  scopegate_introspections_total: ['counter', `{issuer="${ISSUER}",result="timeout"} 1`],
  scopegate_jwks_keys: ['gauge', `{issuer="${ISSUER}"} 6`],
  scopegate_jwks_keys_dropped_total: ['counter', `{issuer="${ISSUER}",reason="too_many"} 1`],
  scopegate_jwks_last_success_timestamp_seconds: ['gauge', `{issuer="${ISSUER}"} 5`],
  scopegate_jwks_refresh_total: ['counter', `{issuer="${ISSUER}",result="ok"} 1`],
  scopegate_log_lines_dropped_total: ['counter', ' 0'],
  scopegate_memory_used_ratio: ['gauge', ' 0.5'],
  scopegate_overload_level: ['gauge', ' 0'],
  scopegate_overload_refused_total: ['counter', '{reason="event_loop"} 1'],
  scopegate_policy_info: ['gauge', '{hash="abc"} 1'],
  scopegate_policy_reload_success: ['gauge', ' 0'],
  scopegate_policy_reloads_total: ['counter', '{result="success"} 0', '{result="failure"} 1'],
  scopegate_policy_routes: ['gauge', '{policy="p"} 1'],
  scopegate_rate_limit_entries: ['gauge', ' 9'],
  scopegate_rate_limit_fallback_total: ['counter', '{reason="failed"} 1'],
  scopegate_rate_limit_total: ['counter', '{route="p/one",outcome="limited"} 1'],
  scopegate_revocation_channel_up: ['gauge', `{issuer="${ISSUER}"} 1`],
  scopegate_revocation_gaps_total: ['counter', ' 1'],
  scopegate_revocations_received_total: ['counter', ' 3'],
  scopegate_tls_certificate_expiry_seconds: ['gauge', ' 11'],
  scopegate_tls_certificate_reloads_total: ['counter', '{result="success"} 1', '{result="failure"} 0'],
  scopegate_tls_handshake_failures_total: ['counter', '{reason="plain_http"} 1'],
  scopegate_token_cache_entries: ['gauge', '{kind="jwt"} 3', '{kind="opaque"} 4'],
  scopegate_token_cache_hits_total: ['counter', '{kind="jwt"} 1'],
  scopegate_token_cache_misses_total: ['counter', '{kind="opaque"} 1'],
  scopegate_token_shared_cache_total: ['counter', `{issuer="${ISSUER}",result="stale"} 1`],
  scopegate_token_validation_duration_seconds: [
    'histogram',
    '_sum{kind="jwt",cache="hit"} 0.01',
    '_count{kind="jwt",cache="hit"} 1',
  ],
  scopegate_uncaught_total: ['counter', '{where="request"} 1', '{where="process"} 0'],
  scopegate_upstream_errors_total: ['counter', '{upstream="api",reason="reset"} 1'],
  scopegate_upstream_request_duration_seconds: [
    'histogram',
    '_sum{upstream="api",code_class="5xx"} 0.01',
    '_count{upstream="api",code_class="5xx"} 1',
  ],
  scopegate_upstream_retries_total: ['counter', '{upstream="api"} 1'],
  scopegate_upstream_up: ['gauge', '{upstream="api"} 1'],
  scopegate_websocket_sessions: ['gauge', ' 10'],
  scopegate_websocket_sessions_closed_total: ['counter', '{route="p/one",code="1000"} 1'],
}

t.test('each metric has its name, type, labels and value', async (t) => {
  const lines = (await aRegistry().metrics()).split('\n')
  const types = lines.flatMap((line) => {
    const [, name = '', type = ''] = /^# TYPE (scopegate_\S+) (\S+)$/.exec(line) ?? []
    return name === '' ? [] : [[name, type] as const]
  })
  const shown = types.map(([name, type]) => {
    const series = new RegExp(`^${name}((?:_sum|_count)?(?:[{ ].*))$`)
    return [name, [type, ...lines.flatMap((line) => series.exec(line)?.[1] ?? [])]] as const
  })
  t.strictSame(Object.fromEntries(shown), EXPECTED)
})

t.test('histograms have the documented buckets', async (t) => {
  const text = await aRegistry().metrics()
  const boundsOf = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"`, 'gm'))].map(([, bound]) => bound)
  const http = '0.005 0.01 0.025 0.05 0.075 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 +Inf'
  t.equal(boundsOf('scopegate_http_request_duration_seconds').join(' '), http)
  t.equal(boundsOf('scopegate_upstream_request_duration_seconds').join(' '), http)
  t.equal(
    boundsOf('scopegate_token_validation_duration_seconds').join(' '),
    '0.00001 0.0001 0.001 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 +Inf',
  )
})

t.test('each metric has a unique help text', async (t) => {
  const text = await aRegistry().metrics()
  const helps = [...text.matchAll(/^# HELP (scopegate_\S+) (.*)$/gm)].map(
    ([, name = '', help = '']) => [name, help] as const,
  )
  t.equal(helps.length, Object.keys(EXPECTED).length)
  for (const [name, help] of helps) {
    t.match(help, /^\S+(?: \S+)+$/, `the help text of ${name} has two words or more`)
    t.equal(helps.filter(([, other]) => other === help).length, 1, `the help text of ${name} is unique`)
  }
})
