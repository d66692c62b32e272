import { mock } from 'node:test'
import t from 'tap'
import { OverloadMonitor } from '../../../gateway/limits/overload/overload-monitor.ts'
import { createMetrics } from '../../../gateway/observability/metrics.ts'
import { createReloadMeter } from '../../../gateway/observability/reload-metrics.ts'
import { createClientCertificateMeter, createTlsMetrics } from '../../../gateway/observability/tls-metrics.ts'
import { createUpstreamTokenMeters } from '../../../gateway/observability/upstream-token-metrics.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'

const ISSUER = 'https://issuer.example'

/** Each size has a different value, so that the tests detect values of a wrong metric. */
function someMetrics() {
  const logger = SILENT_LOGGER
  const monitor = new OverloadMonitor({
    limits: {
      heap: { close: 1, refuse: 1 },
      memory: { close: 2, refuse: 2 },
      loop: { close: 1_000, refuse: 1_000 },
    },
    read: () => ({ heap: 0.25, memory: 0.5, loop: 1, longestDelayMs: 3_000 }),
    collectGarbage: () => undefined,
    logger,
  })
  monitor.measure()
  const metrics = createMetrics({
    version: '1.2.3',
    logger,
    overload: monitor,
  })
  metrics.register({
    pipeline: { inFlight: 2 },
    cache: { entries: { jwt: 3, opaque: 4 } },
    upstreams: {
      active: [
        {
          name: 'api',
          targets: {
            state: 'half_open',
            openConnections: 14,
            health: [{ target: 'http://a', isHealthy: true }],
          },
          queue: { size: 15 },
        },
      ],
    },
    issuers: [
      {
        issuer: ISSUER,
        keys: { confirmedAtMs: 5_000, size: 6 },
        introspector: { load: { working: 7, waiting: 8 } },
        stale: { isActive: true },
      },
    ],
    channels: { states: () => [{ issuer: ISSUER, isConnected: true }] },
    rateLimiter: { size: 9 },
    sessions: { size: 10 },
    policySources: [{ name: 's', lastFetchFile: '/nonexistent' }],
  })
  metrics.policies({
    hash: 'abc',
    routes: [{ name: 'p/one', policy: 'p' }],
    sources: [{ name: 's', state: 'kept' }],
    upstreams: [{ name: 's/own' }],
  })
  const route = metrics.route('p/one')
  route.finished('GET', 200, 0.01)
  route.decided({ decision: 'allow', reason: 'ok' })
  route.reported({ decision: 'deny', reason: 'insufficient_scope' })
  route.rateLimited('limited')
  route.rejectedBy('api')
  route.asked(403)
  route.sessionEnded(1000)
  const upstream = metrics.upstream('api')
  upstream.responded(503, 0.01)
  upstream.failed('reset')
  upstream.retried()
  upstream.probed('http://a', 'status')
  upstream.lookedUp('failed')
  metrics.tokens.hit('jwt')
  metrics.tokens.miss('opaque')
  metrics.tokens.validated('jwt', 'hit', 0.01)
  const issuer = metrics.issuer(ISSUER)
  issuer.introspected('ERR_INTROSPECTION_TIMEOUT')
  issuer.sharedLookUp('stale')
  issuer.staleUsed()
  issuer.refreshed('ok')
  issuer.dropped('too_many')
  metrics.rateLimitFallback('failed')
  metrics.proofAlone()
  metrics.connectionRejected()
  metrics.overloaded('loop')
  metrics.requestBroke()
  metrics.revocations(3)
  metrics.revocationGap()
  const reloads = createReloadMeter(metrics.registry)
  reloads.reloaded('failure')
  const tls = createTlsMetrics(metrics.registry, () => ({ expiresAtMs: 11_000 }))
  const certificates = createClientCertificateMeter(metrics.registry)
  certificates.follow('api', () => 12_000)
  certificates.reloaded('api', 'success')
  const tokens = createUpstreamTokenMeters(metrics.registry)('api')
  tokens.requested('timeout')
  tokens.expiresAt(13_000)
  tls.handshakeFailed('plain_http')
  tls.http2ConnectionFailed('flood')
  tls.reloaded('success')
  return metrics
}

/**
 * The type of each metric, and its series without the buckets of histograms. The list does not use the code, so that it
 * detects changes of the code.
 */
const EXPECTED: Readonly<Record<string, readonly [type: string, ...series: string[]]>> = {
  scopegate_auth_decisions_total: ['counter', '{route="p/one",decision="allow",reason="ok"} 1'],
  scopegate_auth_reported_total: ['counter', '{route="p/one",decision="deny",reason="insufficient_scope"} 1'],
  scopegate_build_info: ['gauge', `{service="gateway",version="1.2.3",node="${process.version}"} 1`],
  scopegate_circuit_state: ['gauge', '{upstream="api"} 1'],
  scopegate_connections_refused_total: ['counter', ' 1'],
  scopegate_decision_requests_total: ['counter', '{route="p/one",code="403"} 1'],
  scopegate_dpop_replay_fallback_total: ['counter', ' 1'],
  scopegate_event_loop_delay_seconds: ['gauge', ' 3'],
  scopegate_heap_used_ratio: ['gauge', ' 0.25'],
  scopegate_http2_connection_failures_total: ['counter', '{reason="flood"} 1'],
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
  scopegate_policy_source_last_fetch_timestamp_seconds: ['gauge', '{source="s"} 0'],
  scopegate_policy_source_valid: ['gauge', '{source="s"} 0'],
  scopegate_rate_limit_entries: ['gauge', ' 9'],
  scopegate_rate_limit_fallback_total: ['counter', '{reason="failed"} 1'],
  scopegate_rate_limit_rejections_total: ['counter', '{route="p/one",limit="api"} 1'],
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
  scopegate_token_stale_active: ['gauge', `{issuer="${ISSUER}"} 1`],
  scopegate_token_stale_uses_total: ['counter', `{issuer="${ISSUER}"} 1`],
  scopegate_token_validation_duration_seconds: [
    'histogram',
    '_sum{kind="jwt",cache="hit"} 0.01',
    '_count{kind="jwt",cache="hit"} 1',
  ],
  scopegate_uncaught_total: ['counter', '{where="request"} 1', '{where="process"} 0'],
  scopegate_upstream_certificate_expiry_seconds: ['gauge', '{upstream="api"} 12'],
  scopegate_upstream_certificate_reloads_total: [
    'counter',
    '{upstream="api",result="success"} 1',
    '{upstream="api",result="failure"} 0',
  ],
  scopegate_upstream_connections: ['gauge', '{upstream="api"} 14'],
  scopegate_upstream_errors_total: ['counter', '{upstream="api",reason="reset"} 1'],
  scopegate_upstream_srv_lookups_total: ['counter', '{upstream="api",result="failed"} 1'],
  scopegate_upstream_health_checks_total: ['counter', '{upstream="api",target="http://a",result="status"} 1'],
  scopegate_upstream_pending_requests: ['gauge', '{upstream="api"} 15'],
  scopegate_upstream_request_duration_seconds: [
    'histogram',
    '_sum{upstream="api",code_class="5xx"} 0.01',
    '_count{upstream="api",code_class="5xx"} 1',
  ],
  scopegate_upstream_retries_total: ['counter', '{upstream="api"} 1'],
  scopegate_upstream_target_healthy: ['gauge', '{upstream="api",target="http://a"} 1'],
  scopegate_upstream_token_expiry_seconds: ['gauge', '{upstream="api"} 13'],
  scopegate_upstream_token_requests_total: [
    'counter',
    '{upstream="api",result="ok"} 0',
    '{upstream="api",result="timeout"} 1',
  ],
  scopegate_upstream_up: ['gauge', '{upstream="api"} 1'],
  scopegate_websocket_sessions: ['gauge', ' 10'],
  scopegate_websocket_sessions_closed_total: ['counter', '{route="p/one",code="1000"} 1'],
}

t.test('each metric has its name, type, labels and value', async (t) => {
  const lines = (await someMetrics().registry.metrics()).split('\n')
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
  const text = await someMetrics().registry.metrics()
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

/** Metrics that the code in `platform/process/` defines. */
const PLATFORM = new Set(['scopegate_log_lines_dropped_total', 'scopegate_uncaught_total'])

/**
 * The help text of each metric that is not in PLATFORM. The list does not use the code, so that it detects changes of
 * the code.
 */
const HELP: Readonly<Record<string, string>> = {
  scopegate_auth_decisions_total: 'Decisions on API routes.',
  scopegate_auth_reported_total: 'Requests that audit-only mode allowed although their policy denies them.',
  scopegate_build_info: '1 for the running version.',
  scopegate_circuit_state: 'Circuit of the healthiest target of the upstream: 0 closed, 1 half-open, 2 open.',
  scopegate_connections_refused_total: 'Connections closed because of the connection limit.',
  scopegate_decision_requests_total:
    'Finished requests for decisions on requests that another ingress forwards.',
  scopegate_dpop_replay_fallback_total:
    'DPoP proofs whose replay check was local because Redis was unavailable or failed.',
  scopegate_event_loop_delay_seconds: 'Longest delay of the event loop since the previous scrape.',
  scopegate_heap_used_ratio: 'Used part of the JavaScript heap limit after the last full garbage collection.',
  scopegate_http_request_duration_seconds: 'Time from the head of a request to the end of its response.',
  scopegate_http_requests_in_flight: 'Requests in progress.',
  scopegate_http_requests_total: 'Finished requests.',
  scopegate_introspections_in_flight: 'Introspection requests in progress and queued.',
  scopegate_introspections_total: 'Introspection requests, by result.',
  scopegate_jwks_keys: 'Accepted keys of an issuer.',
  scopegate_jwks_keys_dropped_total:
    'Published keys of an issuer that the gateway ignores, counted on each fetch.',
  scopegate_jwks_last_success_timestamp_seconds: "Time of the last successful fetch of an issuer's keys.",
  scopegate_jwks_refresh_total: "Fetches of an issuer's keys.",
  scopegate_memory_used_ratio:
    "Used part of this process's share of the container memory; 0 without a limit.",
  scopegate_overload_level: '0 normal, 1 connections close after each response, 2 requests are rejected.',
  scopegate_overload_refused_total: 'Requests rejected because of overload.',
  scopegate_policy_info: '1 for the active policies.',
  scopegate_policy_reload_success: '1 while the policies on the disk are active, 0 after a failed reload.',
  scopegate_policy_reloads_total: 'Policy reloads, by result.',
  scopegate_policy_routes: 'Routes of each policy.',
  scopegate_policy_source_last_fetch_timestamp_seconds:
    'Time of the last successful fetch of the policy source, 0 before the first fetch.',
  scopegate_policy_source_valid:
    '1 while the files of the policy source are active, 0 while they are invalid.',
  scopegate_rate_limit_entries:
    'Callers whose requests this process counts, for rate limits and shared limits.',
  scopegate_rate_limit_fallback_total:
    'Rate limit decisions without Redis because Redis was unavailable or failed.',
  scopegate_rate_limit_rejections_total: 'Requests that a rate limit rejected, by the name of the limit.',
  scopegate_rate_limit_total: 'Requests on routes with a rate limit.',
  scopegate_revocation_channel_up:
    '1 while the revocation channel of the issuer is connected, 0 while the channel is down and tokenCache.ttlWithoutPush applies.',
  scopegate_revocation_gaps_total:
    'Revocation gaps, after which the gateway checks every cached token again. Each channel counts one gap at its first connection.',
  scopegate_revocations_received_total: 'Received revocations; a revocation on two channels counts twice.',
  scopegate_tls_certificate_expiry_seconds: 'Expiry time of the active certificate in seconds since 1970.',
  scopegate_tls_certificate_reloads_total: 'Certificate reloads, by result.',
  scopegate_http2_connection_failures_total:
    'HTTP/2 connections that the gateway closed because of their frames, by reason.',
  scopegate_tls_handshake_failures_total: 'Failed TLS handshakes, by reason.',
  scopegate_token_cache_entries: 'Entries of the token cache.',
  scopegate_token_cache_hits_total: 'Token cache hits.',
  scopegate_token_cache_misses_total: 'Token cache misses.',
  scopegate_token_shared_cache_total: 'Lookups in the shared token cache in Redis, by result.',
  scopegate_token_stale_active:
    '1 while the gateway accepts tokens of the issuer by an earlier check because the issuer does not respond.',
  scopegate_token_stale_uses_total:
    'Uses of tokens that the gateway accepted by an earlier check because the issuer did not respond.',
  scopegate_token_validation_duration_seconds: 'Time to validate a token.',
  scopegate_upstream_certificate_expiry_seconds:
    'Expiry time of the active client certificate for an upstream in seconds since 1970.',
  scopegate_upstream_certificate_reloads_total: 'Reloads of client certificates for upstreams, by result.',
  scopegate_upstream_connections: 'Open connections to the upstream.',
  scopegate_upstream_errors_total: 'Requests without a complete response of the upstream, by reason.',
  scopegate_upstream_srv_lookups_total: 'Lookups of the SRV records of an upstream, by result.',
  scopegate_upstream_health_checks_total: 'Health check probes to a target of an upstream, by result.',
  scopegate_upstream_pending_requests: 'Requests that wait for a connection to the upstream.',
  scopegate_upstream_request_duration_seconds:
    'Time from forwarding a request to the first byte of the response.',
  scopegate_upstream_retries_total: 'Retries of requests to an upstream.',
  scopegate_upstream_target_healthy:
    '1 while the health check of the target succeeds, 0 while the target is unhealthy.',
  scopegate_upstream_token_expiry_seconds:
    'Expiry time of the token for an upstream in seconds since 1970; 0 before the first token.',
  scopegate_upstream_token_requests_total: 'Requests for a token for an upstream, by result.',
  scopegate_upstream_up:
    '1 while the gateway sends requests to the upstream, 0 while all of its targets are ejected.',
  scopegate_websocket_sessions: 'Open WebSocket sessions.',
  scopegate_websocket_sessions_closed_total: 'Closed WebSocket sessions, by close code.',
}

t.test('each metric has its help text', async (t) => {
  const text = await someMetrics().registry.metrics()
  const helps = [...text.matchAll(/^# HELP (scopegate_\S+) (.*)$/gm)].map(
    ([, name = '', help = '']) => [name, help] as const,
  )
  t.strictSame(Object.fromEntries(helps.filter(([name]) => !PLATFORM.has(name))), HELP)
})

t.test('the series of removed routes and upstreams expire', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const metrics = someMetrics()
  metrics.upstream('s/own').retried()
  metrics.policies({ hash: 'def', routes: [], sources: [], upstreams: [] })
  for (const name of ['route="p/one"', 'upstream="s/own"', 'upstream="api"'])
    t.match(await metrics.registry.metrics(), name)
  mock.timers.tick(600_000)
  for (const name of ['route="p/one"', 'upstream="s/own"']) t.notMatch(await metrics.registry.metrics(), name)
  t.match(await metrics.registry.metrics(), 'upstream="api"', 'an upstream of the operator')
})

t.test('a gateway counts fallbacks by reason, and reads current sizes on each scrape', async (t) => {
  const metrics = someMetrics()
  for (const reason of ['away', 'away', 'failed'] as const) metrics.rateLimitFallback(reason)
  metrics.proofAlone()
  metrics.connectionRejected()
  t.match(await metrics.registry.metrics(), 'scopegate_rate_limit_fallback_total{reason="away"} 2\n')
  const text = await metrics.registry.metrics()
  t.match(text, 'scopegate_rate_limit_fallback_total{reason="failed"} 2\n')
  t.match(text, /^scopegate_dpop_replay_fallback_total 2$/m)
  t.match(text, /^scopegate_connections_refused_total 2$/m)
  t.match(text, /^process_cpu_user_seconds_total /m)
})
