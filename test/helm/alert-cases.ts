/** The samples of a series, in the notation of `promtool test rules`, one sample for each minute. */
type Series = Readonly<Record<string, string>>

/** Values of series with which an alert fires, and values with which it does not fire. */
export type AlertCase = {
  readonly firing: Series
  readonly quiet: Series
  /** Default: 15m. */
  readonly at?: string
  /** Interval of samples and evaluations. Default: 1m. */
  readonly interval?: string
  /** Labels of the alert. Default: namespace and job. */
  readonly labels?: Readonly<Record<string, string>>
  /** The value in the annotations. */
  readonly value?: string
}

const JOB = { namespace: 'shop', job: 'gw' }
const TARGET = { ...JOB, instance: 'a' }

/** The increase between minute 12 and minute 13. */
const STEP = '0x12 1x20'
const CONSTANT = '1x40'

const requests = (failed: number, others: number, minutes = 40): Series => ({
  'scopegate_http_requests_total{route="r",method="GET",code="502"}': `0+${failed}x${minutes}`,
  'scopegate_http_requests_total{route="r",method="GET",code="200"}': `0+${others}x${minutes}`,
})

/** The bound of one second is `1.0` in OpenMetrics and `1` in the Prometheus text format. */
const responses = (fast: number, all: number, minutes = 40, second = '1.0'): Series => ({
  [`scopegate_upstream_request_duration_seconds_bucket{upstream="u",code_class="2xx",le="${second}"}`]: `0+${fast}x${minutes}`,
  'scopegate_upstream_request_duration_seconds_bucket{upstream="u",code_class="2xx",le="2.5"}': `0+${all}x${minutes}`,
  'scopegate_upstream_request_duration_seconds_bucket{upstream="u",code_class="2xx",le="+Inf"}': `0+${all}x${minutes}`,
  'scopegate_upstream_request_duration_seconds_count{upstream="u",code_class="2xx"}': `0+${all}x${minutes}`,
})

/** Requests to the authorization server. Each failed request is fast, and each slow request succeeds. */
const oauthRequests = (
  { failed = 0, slow = 0 }: { readonly failed?: number; readonly slow?: number },
  minutes = 80,
  second = '1.0',
): Series => {
  const series = (codeClass: string, fast: number, all: number): Series => {
    const labels = `endpoint="token",code_class="${codeClass}"`
    return {
      [`scopegate_oauth_request_duration_seconds_bucket{${labels},le="${second}"}`]: `0+${fast}x${minutes}`,
      [`scopegate_oauth_request_duration_seconds_bucket{${labels},le="+Inf"}`]: `0+${all}x${minutes}`,
      [`scopegate_oauth_request_duration_seconds_count{${labels}}`]: `0+${all}x${minutes}`,
    }
  }
  return { ...series('2xx', 1000 - failed - slow, 1000 - failed), ...series('5xx', failed, failed) }
}

const decisions = (invalid: number, allowed: number): Series => ({
  'scopegate_auth_decisions_total{route="r",decision="deny",reason="invalid_token"}': `0+${invalid}x40`,
  'scopegate_auth_decisions_total{route="r",decision="allow",reason="ok"}': `0+${allowed}x40`,
})

const signIns = (failed: number, succeeded: number): Series => ({
  'scopegate_oauth_sign_ins_total{provider="local",result="wrong_credentials"}': `0+${failed}x40`,
  'scopegate_oauth_sign_ins_total{provider="local",result="ok"}': `0+${succeeded}x40`,
})

/** A metric of two instances. The first instance responds for five minutes. */
const instances = (metric: string, second: string): Series => ({
  [metric]: '0x5 _x40',
  [`${metric}{instance="b"}`]: second,
})

/** The alert fires at `bad`, and does not fire at `good`. */
const gauge = (series: string, { bad, good }: { bad: string | number; good: string | number }) => ({
  firing: { [series]: `${bad}x80` },
  quiet: { [series]: `${good}x80` },
})

const counter = (series: string, firing = STEP, quiet = CONSTANT) => ({
  firing: { [series]: firing },
  quiet: { [series]: quiet },
})

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  ScopegateRevokedTokenAccepted: counter('scopegate_canary_runs_total{result="failed",stage="reject"}'),
  ScopegateCanaryWithoutSuccess: {
    // The canary stops after 40 minutes.
    firing: { scopegate_canary_last_success_timestamp_seconds: '0x40' },
    quiet: { scopegate_canary_last_success_timestamp_seconds: '10500x40' },
    at: '3h',
    value: '3h 0m 0s',
  },
  ScopegateGatewayDown: {
    firing: instances('scopegate_http_requests_in_flight', '0x5 _x40'),
    quiet: instances('scopegate_http_requests_in_flight', '0x40'),
  },
  ScopegateTargetDown: {
    firing: { 'scopegate_build_info{version="1",node="24"}': '1x5 _x40', up: '1x5 0x40' },
    quiet: { 'scopegate_build_info{version="1",node="24"}': '1x5 _x40', 'up{job="other"}': '1x5 0x40' },
    labels: TARGET,
  },
  ScopegateErrorRateHigh: {
    firing: requests(6, 94),
    quiet: requests(4, 96),
    labels: { ...JOB, route: 'r' },
    value: '6%',
  },
  ScopegateLatencyP99High: {
    firing: responses(90, 100),
    quiet: responses(100, 100),
    labels: { ...JOB, upstream: 'u' },
    value: '2.35s',
  },
  ScopegateUpstreamDown: {
    ...gauge('scopegate_upstream_up{upstream="u"}', { bad: 0, good: 1 }),
    labels: { ...JOB, upstream: 'u' },
  },
  ScopegateOverloaded: {
    ...gauge('scopegate_overload_level', { bad: 1, good: 0 }),
    labels: TARGET,
    value: '1',
  },
  ScopegateEventLoopLag: {
    firing: { nodejs_eventloop_lag_p99_seconds: '0.3x40', 'scopegate_build_info{version="1"}': '1x40' },
    quiet: { nodejs_eventloop_lag_p99_seconds: '0.2x40', 'scopegate_build_info{version="1"}': '1x40' },
    labels: TARGET,
    value: '300ms',
  },
  ScopegateConnectionsRefused: { ...counter('scopegate_connections_refused_total'), labels: TARGET },
  ScopegateWorkerCrashed: {
    ...counter('scopegate_worker_starts_total{reason="crash"}'),
    labels: { ...TARGET, reason: 'crash' },
  },
  ScopegateUncaughtException: {
    ...counter('scopegate_uncaught_total{where="request"}'),
    labels: { ...TARGET, where: 'request' },
  },
  ScopegateLogLinesDropped: { ...counter('scopegate_log_lines_dropped_total'), labels: TARGET },
  ScopegatePolicyReloadFailed: {
    ...gauge('scopegate_policy_reload_success', { bad: 0, good: 1 }),
    labels: TARGET,
  },
  ScopegatePolicyHashSkew: {
    firing: {
      'scopegate_policy_info{hash="x"}': '1x40',
      'scopegate_policy_info{instance="b",hash="y"}': '1x40',
    },
    quiet: {
      'scopegate_policy_info{hash="x"}': '1x40',
      'scopegate_policy_info{instance="b",hash="x"}': '1x40',
    },
    value: '2',
  },
  ScopegatePolicySourceInvalid: {
    ...gauge('scopegate_policy_source_valid{source="billing"}', { bad: 0, good: 1 }),
    labels: { ...JOB, source: 'billing' },
  },
  ScopegateAuthFailureSpike: { firing: decisions(30, 70), quiet: decisions(10, 90), value: '30%' },
  ScopegateJwksRefreshFailed: {
    ...counter('scopegate_jwks_refresh_total{issuer="i",result="error"}', '0x5 4x20', '0x5 1x20'),
    labels: { ...JOB, issuer: 'i' },
  },
  ScopegateJwksStale: {
    ...gauge('scopegate_jwks_last_success_timestamp_seconds{issuer="i"}', { bad: 0, good: 900 }),
    at: '70m',
    labels: { ...JOB, issuer: 'i' },
    value: '1h 10m 0s',
  },
  ScopegateStaleTokensAccepted: {
    ...gauge('scopegate_token_stale_active{issuer="i"}', { bad: 1, good: 0 }),
    labels: { ...JOB, issuer: 'i' },
  },
  ScopegateRevocationChannelDown: {
    ...gauge('scopegate_revocation_channel_up{issuer="i"}', { bad: 0, good: 1 }),
    labels: { ...JOB, issuer: 'i' },
  },
  ScopegateRevocationGaps: {
    ...counter('scopegate_revocation_gaps_total', '0x5 5x40', '0x5 2x40'),
    at: '20m',
    labels: TARGET,
  },
  ScopegateRateLimiterFallback: {
    ...counter('scopegate_rate_limit_fallback_total{reason="away"}', '0+1x40'),
    labels: { ...JOB, reason: 'away' },
  },
  ScopegateDpopReplayFallback: counter('scopegate_dpop_replay_fallback_total', '0+1x40'),
  ScopegateCertificateExpiring: {
    ...gauge('scopegate_tls_certificate_expiry_seconds', { bad: 900 + 6 * 86_400, good: 900 + 8 * 86_400 }),
    labels: TARGET,
    value: '6d 0h 0m 0s',
  },
  ScopegateSecretFileUnusable: {
    ...gauge('scopegate_secret_file_usable{setting="tls.key"}', { bad: 0, good: 1 }),
    labels: { ...JOB, setting: 'tls.key' },
  },
  ScopegateAuthorizationServerDown: {
    firing: instances('scopegate_oauth_revocation_listeners', '0x5 _x40'),
    quiet: instances('scopegate_oauth_revocation_listeners', '0x40'),
  },
  ScopegateStoreNotWritable: {
    ...gauge('scopegate_oauth_store_writable', { bad: 0, good: 1 }),
    labels: TARGET,
  },
  ScopegateStoreErrors: {
    ...counter('scopegate_oauth_store_errors_total{reason="away"}', '0x12 8x20', '0x12 3x20'),
    labels: { ...JOB, reason: 'away' },
  },
  ScopegateRefreshTokenReused: counter('scopegate_oauth_refresh_reuse_total'),
  ScopegateSignInFailures: {
    firing: signIns(6, 4),
    quiet: signIns(4, 6),
    labels: { ...JOB, provider: 'local' },
    value: '60%',
  },
  ScopegateSignInsThrottled: counter('scopegate_oauth_sign_ins_throttled_total', '0x5 15x40', '0x5 5x40'),
  ScopegateAvailabilityBurnFast: {
    firing: requests(20, 980, 80),
    quiet: requests(5, 995, 80),
    at: '70m',
    value: '2%',
  },
  ScopegateAvailabilityBurnSlow: {
    firing: requests(2, 998, 160),
    quiet: requests(1, 1999, 160),
    at: '3d',
    interval: '30m',
    value: '0.2%',
  },
  ScopegateLatencyBurnFast: {
    firing: responses(80, 100, 80),
    quiet: responses(95, 100, 80),
    at: '70m',
    value: '20%',
  },
  ScopegateLatencyBurnSlow: {
    firing: responses(980, 1000, 160, '1'),
    quiet: responses(995, 1000, 160),
    at: '3d',
    interval: '30m',
    value: '2%',
  },
  ScopegateAuthorizationServerAvailabilityBurnFast: {
    firing: oauthRequests({ failed: 20 }),
    quiet: oauthRequests({ failed: 5, slow: 900 }),
    at: '70m',
    value: '2%',
  },
  ScopegateAuthorizationServerAvailabilityBurnSlow: {
    firing: oauthRequests({ failed: 2 }, 160),
    quiet: oauthRequests({ failed: 0, slow: 900 }, 160),
    at: '3d',
    interval: '30m',
    value: '0.2%',
  },
  ScopegateAuthorizationServerLatencyBurnFast: {
    firing: oauthRequests({ slow: 200 }),
    quiet: oauthRequests({ slow: 50, failed: 900 }),
    at: '70m',
    value: '20%',
  },
  ScopegateAuthorizationServerLatencyBurnSlow: {
    firing: oauthRequests({ slow: 20 }, 160, '1'),
    quiet: oauthRequests({ slow: 5, failed: 900 }, 160),
    at: '3d',
    interval: '30m',
    value: '2%',
  },
}

/** Adds the labels of a target to a series. */
export function withTarget(series: string): string {
  const [, name = '', own = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? []
  const target = Object.entries(TARGET)
    .filter(([label]) => !new RegExp(`(?:^|,)${label}=`).test(own))
    .map(([label, value]) => `${label}="${value}"`)
  return `${name}{${[...target, ...(own === '' ? [] : [own])].join(',')}}`
}

export const labelsOf = ({ labels }: AlertCase): Readonly<Record<string, string>> => labels ?? JOB
