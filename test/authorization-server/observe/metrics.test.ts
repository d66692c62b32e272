import t from 'tap'
import { createMetrics } from '../../../authorization-server/observe/metrics.ts'
import { createLogger } from '../../../platform/logging/logger.ts'

const ownMetrics = (text: string): string =>
  text
    .split('\n')
    .filter((line) => /scopegate_(oauth|build)/.test(line) && !line.includes('_bucket{'))
    .join('\n')

t.test(
  'createMetrics() registers exactly the expected metrics, with help text, type and labels',
  async (t) => {
    let listeners = 1
    const logger = createLogger({ level: 'info', service: 'test' }, { write: () => undefined })
    const metrics = createMetrics({ version: '1.2.3', listeners: () => listeners, logger })
    const before = await metrics.registry.metrics()
    t.match(before, /^process_cpu_seconds_total /m)
    t.match(before, /^scopegate_log_lines_dropped_total 0$/m)
    t.match(before, /^scopegate_oauth_revocation_listeners 1$/m)
    t.notMatch(before, 'clock_difference')

    listeners = 3
    metrics.countRequest('token', 'authorization_code', 'ok')
    metrics.countRequest('token', 'refresh_token', 'ok')
    metrics.countRequest('token', 'refresh_token', 'ok')
    metrics.countRequest('token', 'password', 'unsupported_grant_type')
    metrics.countRequest('jwks', '-', 'ok')
    for (let i = 0; i < 2; i++) metrics.countClientRegistered()
    metrics.countClientDocument('ok')
    for (let i = 0; i < 2; i++) metrics.countClientDocument('status')
    metrics.countSignIn('local', 'ok')
    metrics.countSignIn('company', 'not_admitted')
    for (let i = 0; i < 3; i++) metrics.countThrottledSignIn()
    metrics.countConsent('given')
    metrics.countConsent('denied')
    metrics.countSessionEnded()
    metrics.countGrantCreated('page')
    metrics.countGrantCreated('remembered')
    metrics.countGrantEnded('revoked')
    for (let i = 0; i < 4; i++) metrics.countRefreshReuse()
    for (let i = 0; i < 5; i++) metrics.countRefreshRepeat()
    metrics.countStoreError('away')
    metrics.countStoreError('full')
    metrics.setStoreWritable(true)
    metrics.setClockDifference(9)
    metrics.setClockDifference(-1.5)
    metrics.observeRequest('token', { status: 200, seconds: 0.02, traceId: undefined })
    metrics.observeRequest('token', { status: 404, seconds: 0.5, traceId: undefined })
    metrics.observeStoreOperation('artifacts_find', 'ok', 0.000_2)
    metrics.observeStoreOperation('artifacts_find', 'away', 2)
    const text = await metrics.registry.metrics()
    t.equal(
      ownMetrics(text),
      `# HELP scopegate_build_info 1 for the running version.
# TYPE scopegate_build_info gauge
scopegate_build_info{service="authorization-server",version="1.2.3",node="${process.version}"} 1
# HELP scopegate_oauth_revocation_listeners Open revocation streams.
# TYPE scopegate_oauth_revocation_listeners gauge
scopegate_oauth_revocation_listeners 3
# HELP scopegate_oauth_requests_total Requests to the OAuth endpoints, by result: ok or the error code.
# TYPE scopegate_oauth_requests_total counter
scopegate_oauth_requests_total{endpoint="token",grant_type="authorization_code",result="ok"} 1
scopegate_oauth_requests_total{endpoint="token",grant_type="refresh_token",result="ok"} 2
scopegate_oauth_requests_total{endpoint="token",grant_type="-",result="unsupported_grant_type"} 1
scopegate_oauth_requests_total{endpoint="jwks",grant_type="-",result="ok"} 1
# HELP scopegate_oauth_clients_registered_total Registered clients.
# TYPE scopegate_oauth_clients_registered_total counter
scopegate_oauth_clients_registered_total 2
# HELP scopegate_oauth_client_documents_total Fetches of client documents, by result: ok or the reason of the failure.
# TYPE scopegate_oauth_client_documents_total counter
scopegate_oauth_client_documents_total{result="ok"} 1
scopegate_oauth_client_documents_total{result="status"} 2
# HELP scopegate_oauth_sign_ins_total Completed and failed sign-ins, by provider (local: user name and password) and result: ok or the reason.
# TYPE scopegate_oauth_sign_ins_total counter
scopegate_oauth_sign_ins_total{provider="local",result="ok"} 1
scopegate_oauth_sign_ins_total{provider="company",result="not_admitted"} 1
# HELP scopegate_oauth_sign_ins_throttled_total Sign-in attempts that got 429.
# TYPE scopegate_oauth_sign_ins_throttled_total counter
scopegate_oauth_sign_ins_throttled_total 3
# HELP scopegate_oauth_consents_total Decisions on the consent page.
# TYPE scopegate_oauth_consents_total counter
scopegate_oauth_consents_total{outcome="given"} 1
scopegate_oauth_consents_total{outcome="denied"} 1
# HELP scopegate_oauth_sessions_ended_total Sessions that ended before their expiry.
# TYPE scopegate_oauth_sessions_ended_total counter
scopegate_oauth_sessions_ended_total 1
# HELP scopegate_oauth_grants_created_total Created grants, by consent: page, canary, or the reason for a grant without the consent page.
# TYPE scopegate_oauth_grants_created_total counter
scopegate_oauth_grants_created_total{consent="page"} 1
scopegate_oauth_grants_created_total{consent="remembered"} 1
# HELP scopegate_oauth_grants_ended_total Grants that ended before their expiry, by reason.
# TYPE scopegate_oauth_grants_ended_total counter
scopegate_oauth_grants_ended_total{reason="revoked"} 1
# HELP scopegate_oauth_refresh_reuse_total Refresh tokens that were used again outside the repeat window or by another client; each of these uses ended the grant.
# TYPE scopegate_oauth_refresh_reuse_total counter
scopegate_oauth_refresh_reuse_total 4
# HELP scopegate_oauth_refresh_repeats_total Repeated refreshes within the repeat window; each got the response of the first refresh.
# TYPE scopegate_oauth_refresh_repeats_total counter
scopegate_oauth_refresh_repeats_total 5
# HELP scopegate_oauth_store_errors_total Store operations that failed during requests, by reason.
# TYPE scopegate_oauth_store_errors_total counter
scopegate_oauth_store_errors_total{reason="away"} 1
scopegate_oauth_store_errors_total{reason="read_only"} 0
scopegate_oauth_store_errors_total{reason="full"} 1
scopegate_oauth_store_errors_total{reason="locked"} 0
scopegate_oauth_store_errors_total{reason="damaged"} 0
scopegate_oauth_store_errors_total{reason="failed"} 0
# HELP scopegate_oauth_store_writable 1 if the last write probe of the store succeeded, 0 if it failed.
# TYPE scopegate_oauth_store_writable gauge
scopegate_oauth_store_writable 1
# HELP scopegate_oauth_request_duration_seconds Time from the head of a request to the end of its response.
# TYPE scopegate_oauth_request_duration_seconds histogram
scopegate_oauth_request_duration_seconds_sum{endpoint="token",code_class="2xx"} 0.02
scopegate_oauth_request_duration_seconds_count{endpoint="token",code_class="2xx"} 1
scopegate_oauth_request_duration_seconds_sum{endpoint="token",code_class="4xx"} 0.5
scopegate_oauth_request_duration_seconds_count{endpoint="token",code_class="4xx"} 1
# HELP scopegate_oauth_store_operation_duration_seconds Time of store operations, by result: ok or the reason of the failure.
# TYPE scopegate_oauth_store_operation_duration_seconds histogram
scopegate_oauth_store_operation_duration_seconds_sum{operation="artifacts_find",result="ok"} 0.0002
scopegate_oauth_store_operation_duration_seconds_count{operation="artifacts_find",result="ok"} 1
scopegate_oauth_store_operation_duration_seconds_sum{operation="artifacts_find",result="away"} 2
scopegate_oauth_store_operation_duration_seconds_count{operation="artifacts_find",result="away"} 1
# HELP scopegate_oauth_store_clock_difference_seconds Seconds by which the clock of this server is ahead of the clock of the store; negative: behind.
# TYPE scopegate_oauth_store_clock_difference_seconds gauge
scopegate_oauth_store_clock_difference_seconds -1.5`,
    )
    const bucket = (name: string, le: number, labels: string) =>
      `scopegate_oauth_${name}_duration_seconds_bucket{le="${le}",${labels}}`
    for (const [series, value] of [
      [bucket('request', 0.01, 'endpoint="token",code_class="2xx"'), 0],
      [bucket('request', 0.025, 'endpoint="token",code_class="2xx"'), 1],
      [bucket('store_operation', 0.0001, 'operation="artifacts_find",result="ok"'), 0],
      [bucket('store_operation', 0.00025, 'operation="artifacts_find",result="ok"'), 1],
      [bucket('store_operation', 1, 'operation="artifacts_find",result="away"'), 0],
      [bucket('store_operation', 2.5, 'operation="artifacts_find",result="away"'), 1],
    ] as const)
      t.ok(text.includes(`${series} ${value}\n`), `${series} ${value}`)
    metrics.setStoreWritable(false)
    t.match(await metrics.registry.metrics(), /^scopegate_oauth_store_writable 0$/m)
  },
)
