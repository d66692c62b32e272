/** The samples of a series, in the notation of `promtool test rules`. */
type Series = Readonly<Record<string, string>>

/** Series with which an alert fires. */
export type Firing = {
  readonly series: Series
  /** The times of the first and of the last evaluation at which the alert fires. Minutes. */
  readonly from: number
  readonly to: number
  /** Interval of samples and evaluations. Default: 1. Minutes. */
  readonly interval?: number
}

export type AlertCase = {
  readonly firing: readonly Firing[]
  /** Series with which the alert never fires. */
  readonly quiet: readonly Series[]
  /** A time at which the alert of the first series fires. Its annotations contain the value of this time. Minutes. */
  readonly at?: number
  /** Labels of the alert. Default: namespace and job. */
  readonly labels?: Readonly<Record<string, string>>
  /** The value in the annotations. */
  readonly value?: string
}

const JOB = { namespace: 'shop', job: 'gw' }
const TARGET = { ...JOB, instance: 'a' }

/** A gauge that has each value for a number of samples. `_` is a missing sample. */
const values = (...phases: readonly (readonly [samples: number, value: number | '_'])[]): string =>
  phases.map(([samples, value]) => (value === '_' ? `_x${samples}` : `${value}x${samples - 1}`)).join(' ')

/** A counter that grows by `step` with each sample of a phase. The first sample is 0. */
const growth = (...phases: readonly (readonly [samples: number, step: number])[]): string => {
  let total = 0
  const parts = phases.map(([samples, step]) => {
    const first = total + step
    total += samples * step
    return `${first}+${step}x${samples - 1}`
  })
  return ['0', ...parts].join(' ')
}

/** A counter that grows once, between minute 12 and minute 13. */
const step = (size = 1): string => growth([12, 0], [1, size], [40, 0])

/** Traffic of a number of samples. `failed` is a share of the requests. */
type Phase = readonly [samples: number, requests: number, failed: number]

/**
 * The number of failed requests of a sample, to the nearest half. Halves are exact binary numbers. After other fractions,
 * rounding errors of promtool would look like a reset of the counter.
 */
const failuresOf = (requests: number, failed: number): number => Math.round(2 * requests * failed) / 2
const failing = (phases: readonly Phase[]): string =>
  growth(...phases.map(([samples, requests, failed]) => [samples, failuresOf(requests, failed)] as const))
const succeeding = (phases: readonly Phase[]): string =>
  growth(
    ...phases.map(
      ([samples, requests, failed]) => [samples, requests - failuresOf(requests, failed)] as const,
    ),
  )
const all = (phases: readonly Phase[]): string =>
  growth(...phases.map(([samples, requests]) => [samples, requests] as const))

const requests = (...phases: readonly Phase[]): Series => ({
  'scopegate_http_requests_total{route="r",method="GET",code="502"}': failing(phases),
  'scopegate_http_requests_total{route="r",method="GET",code="200"}': succeeding(phases),
})

/**
 * Responses of an upstream to two gateways. A failed response takes between 1 s and 2.5 s. The bound of one second is
 * `1.0` in OpenMetrics and `1` in the Prometheus text format.
 */
const responses = (...phases: readonly Phase[]): Series =>
  Object.fromEntries(
    ['1.0', '1'].flatMap((second, index) => {
      const labels = `upstream="u",code_class="2xx",instance="${index}"`
      const name = 'scopegate_upstream_request_duration_seconds'
      return [
        [`${name}_bucket{${labels},le="${second}"}`, succeeding(phases)],
        [`${name}_bucket{${labels},le="2.5"}`, all(phases)],
        [`${name}_bucket{${labels},le="+Inf"}`, all(phases)],
        [`${name}_count{${labels}}`, all(phases)],
      ]
    }),
  )

/** Requests to two authorization servers. Each failed request is fast, and each slow request succeeds. */
const oauthRequests =
  (fault: 'failed' | 'slow') =>
  (...phases: readonly Phase[]): Series =>
    Object.fromEntries(
      ['1.0', '1'].flatMap((second, index) => {
        const series = (codeClass: string, fast: string, every: string) => {
          const labels = `endpoint="token",code_class="${codeClass}",instance="${index}"`
          const name = 'scopegate_oauth_request_duration_seconds'
          return [
            [`${name}_bucket{${labels},le="${second}"}`, fast],
            [`${name}_bucket{${labels},le="+Inf"}`, every],
            [`${name}_count{${labels}}`, every],
          ]
        }
        if (fault === 'slow') return series('2xx', succeeding(phases), all(phases))
        return [
          ...series('2xx', succeeding(phases), succeeding(phases)),
          ...series('5xx', failing(phases), failing(phases)),
        ]
      }),
    )

const decisions = (reasons: readonly string[], ...phases: readonly Phase[]): Series => ({
  ...Object.fromEntries(
    reasons.map((reason) => [
      `scopegate_auth_decisions_total{route="r",decision="deny",reason="${reason}"}`,
      failing(phases.map(([samples, count, failed]) => [samples, count, failed / reasons.length])),
    ]),
  ),
  'scopegate_auth_decisions_total{route="r",decision="allow",reason="ok"}': succeeding(phases),
})

const signIns = (...phases: readonly Phase[]): Series => ({
  'scopegate_oauth_sign_ins_total{provider="local",result="wrong_credentials"}': failing(phases),
  'scopegate_oauth_sign_ins_total{provider="local",result="ok"}': succeeding(phases),
})

/** A metric of two instances, which respond for six minutes. Other jobs with the same metric always respond. */
const instances = (metric: string, second: string): Series => ({
  [metric]: '0x5',
  [`${metric}{instance="b"}`]: second,
  [`${metric}{job="other"}`]: '0x100',
  [`${metric}{namespace="other"}`]: '0x100',
})

/**
 * The gauge has the value `bad` from minute 6 to minute 20. Another instance, or another issuer or upstream with the
 * same labels, always has the value `good`.
 */
const gauge = (
  series: string,
  { bad, good, wait = 0 }: { readonly bad: number; readonly good: number; readonly wait?: number },
) => ({
  firing: [
    {
      series: {
        [series]: values([6, good], [15, bad], [20, good]),
        [ofInstance(series)]: values([41, good]),
      },
      ...{ from: 6 + wait, to: 20 },
    },
  ],
  quiet: [{ [series]: values([41, good]) }],
})
const ofInstance = (series: string): string =>
  series.includes('{') ? series.replace('}', ',instance="b"}') : `${series}{instance="b"}`

/** The alert fires for `minutes` after one increase by `size`, and not after an increase by `less`. */
const increase = (
  series: string,
  {
    minutes,
    size = 1,
    less = 0,
  }: { readonly minutes: number; readonly size?: number; readonly less?: number },
) => ({
  firing: [{ series: { [series]: step(size) }, from: 13, to: 12 + minutes }],
  quiet: [{ [series]: step(less) }],
})

type Burn = {
  /** Name of the recording rules, without the window. */
  readonly record: string
  readonly budget: number
  readonly value: string
  readonly quiet?: readonly Series[]
}

/** Ratios of windows. In each job, one window has exactly its limit, and the other window twice its limit. */
const atLimits = (
  record: string,
  pairs: readonly (readonly [limit: number, ...windows: string[]])[],
): Series =>
  Object.fromEntries(
    pairs.flatMap(([limit, ...windows]) =>
      windows.flatMap((exact) =>
        windows.map((window) => [
          `${record}:ratio_rate${window}{job="limit of ${exact}"}`,
          `${window === exact ? limit : 2 * limit}x60`,
        ]),
      ),
    ),
  )

/**
 * A fault for the windows of 1 h and 5 min, or a fault for 6 h and 30 min. High traffic before the first fault keeps the
 * ratio over 6 h low.
 */
const burnFast = (
  series: (...phases: readonly Phase[]) => Series,
  { record, budget, value, quiet = [] }: Burn,
) => ({
  firing: [
    {
      series: series([30, 12_000, 0], [60, 1_000, 0], [40, 2_000, 28 * budget], [10, 600, 0]),
      ...{ from: 113, to: 133 },
    },
    {
      series: series([72, 1_000, 0], [48, 2_000, 11.5 * budget], [10, 600, 0]),
      ...{ from: 495, to: 620, interval: 5 },
    },
  ],
  quiet: [
    series([60, 1_000, 5 * budget]),
    atLimits(record, [
      [14.4 * budget, '1h', '5m'],
      [6 * budget, '6h', '30m'],
    ]),
    ...quiet,
  ],
  ...{ at: 120, value },
})

/**
 * A fault for the windows of 1 d and 2 h, or a fault for 3 d and 6 h. High traffic before the first fault keeps the ratio
 * over 3 d low.
 */
const burnSlow = (
  series: (...phases: readonly Phase[]) => Series,
  { record, budget, value, quiet = [] }: Burn,
) => ({
  firing: [
    {
      series: series([10, 750_000, 0], [72, 2_500, 0], [45, 5_000, 5.6 * budget], [10, 1_500, 0]),
      ...{ from: 2_200, to: 2_620, interval: 20 },
    },
    {
      series: series([72, 5_000, 0], [50, 10_000, 1.8 * budget], [10, 5_000, 0]),
      ...{ from: 6_060, to: 7_500, interval: 60 },
    },
  ],
  quiet: [
    series([60, 10_000, 0.9 * budget]),
    atLimits(record, [
      [3 * budget, '1d', '2h'],
      [budget, '3d', '6h'],
    ]),
    ...quiet,
  ],
  ...{ at: 2_240, value },
})

const DAY = 1_440

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  ScopegateRevokedTokenAccepted: {
    ...increase('scopegate_canary_runs_total{result="failed",stage="reject"}', { minutes: 15 }),
    quiet: [
      {
        'scopegate_canary_runs_total{result="failed",stage="gateway"}': step(),
        'scopegate_canary_runs_total{result="ok",stage="-"}': step(),
      },
    ],
  },
  ScopegateCanaryWithoutSuccess: {
    // The first canary stops after 40 minutes.
    firing: [{ series: { scopegate_canary_last_success_timestamp_seconds: '0x40' }, from: 12, to: DAY + 40 }],
    quiet: [
      {
        scopegate_canary_last_success_timestamp_seconds: `0+60x${2 * DAY}`,
        'scopegate_canary_last_success_timestamp_seconds{instance="b"}': '0x40',
      },
    ],
    value: '15m 0s',
  },
  ScopegateGatewayDown: {
    firing: [{ series: instances('scopegate_http_requests_in_flight', '0x5'), from: 12, to: 65 }],
    quiet: [instances('scopegate_http_requests_in_flight', '0x100')],
  },
  ScopegateTargetDown: {
    firing: [
      {
        series: { 'scopegate_build_info{version="1",node="24"}': '1x5', up: values([6, 1], [2 * DAY, 0]) },
        ...{ from: 11, to: DAY + 5 },
      },
    ],
    quiet: [
      {
        'scopegate_build_info{version="1",node="24"}': '1x5',
        'up{job="other"}': '0x40',
        'up{namespace="other"}': '0x40',
      },
    ],
    labels: TARGET,
  },
  ScopegateErrorRateHigh: {
    firing: [
      { series: requests([12, 100, 0], [20, 100, 0.06], [20, 140, 6 / 140]), from: 22, to: 34 },
      { series: requests([12, 0, 0], [20, 8, 0.5], [20, 0, 0]), from: 21, to: 33 },
    ],
    quiet: [requests([40, 1_200, 0.05]), requests([40, 6, 1])],
    at: 25,
    labels: { ...JOB, route: 'r' },
    value: '6%',
  },
  ScopegateLatencyP99High: {
    firing: [
      { series: responses([12, 100, 0], [30, 100, 0.02], [20, 100, 0]), from: 25, to: 44 },
      { series: responses([12, 0, 0], [30, 4, 0.5], [20, 0, 0]), from: 26, to: 43 },
    ],
    quiet: [
      {
        ...responses([60, 100, 0]),
        'scopegate_upstream_request_duration_seconds_bucket{upstream="u",code_class="2xx",instance="0",le="0.5"}':
          '0+50x60',
        'scopegate_upstream_request_duration_seconds_bucket{upstream="u",code_class="2xx",instance="1",le="0.5"}':
          '0+50x60',
      },
      responses([60, 6_000, 0.01]),
      responses([60, 3, 1]),
    ],
    at: 30,
    labels: { ...JOB, upstream: 'u' },
    value: '1.75s',
  },
  ScopegateUpstreamDown: {
    ...gauge('scopegate_upstream_up{upstream="u"}', { bad: 0, good: 1, wait: 1 }),
    labels: { ...JOB, upstream: 'u' },
  },
  ScopegateOverloaded: {
    ...gauge('scopegate_overload_level', { bad: 1, good: 0, wait: 1 }),
    labels: TARGET,
    value: '1',
  },
  ScopegateEventLoopLag: {
    firing: [
      {
        series: {
          nodejs_eventloop_lag_p99_seconds: values([6, 0.2], [100, 0.3]),
          'scopegate_build_info{version="1"}': '1x5',
        },
        ...{ from: 11, to: 65 },
      },
    ],
    quiet: [
      {
        nodejs_eventloop_lag_p99_seconds: '0.25x40',
        'nodejs_eventloop_lag_p99_seconds{job="other"}': '0.3x40',
        'nodejs_eventloop_lag_p99_seconds{namespace="other"}': '0.3x40',
        'scopegate_build_info{version="1"}': '1x40',
      },
    ],
    labels: TARGET,
    value: '300ms',
  },
  ScopegateConnectionsRefused: {
    ...increase('scopegate_connections_refused_total', { minutes: 5 }),
    labels: TARGET,
  },
  ScopegateWorkerCrashed: {
    ...increase('scopegate_worker_starts_total{reason="crash"}', { minutes: 5 }),
    quiet: [{ 'scopegate_worker_starts_total{reason="roll"}': step() }],
    labels: { ...TARGET, reason: 'crash' },
  },
  ScopegateUncaughtException: {
    ...increase('scopegate_uncaught_total{where="request"}', { minutes: 5 }),
    labels: { ...TARGET, where: 'request' },
  },
  ScopegateLogLinesDropped: {
    ...increase('scopegate_log_lines_dropped_total', { minutes: 5 }),
    labels: TARGET,
  },
  ScopegatePolicyReloadFailed: {
    ...gauge('scopegate_policy_reload_success', { bad: 0, good: 1 }),
    labels: TARGET,
  },
  ScopegatePolicyHashSkew: {
    firing: [
      {
        series: {
          'scopegate_policy_info{hash="x"}': '1x40',
          'scopegate_policy_info{instance="b",hash="y"}': '_x3 1x16 stale',
        },
        ...{ from: 13, to: 19 },
      },
    ],
    quiet: [
      {
        'scopegate_policy_info{hash="x"}': '1x40',
        'scopegate_policy_info{instance="b",hash="x"}': '1x40',
      },
    ],
    value: '2',
  },
  ScopegatePolicySourceInvalid: {
    ...gauge('scopegate_policy_source_valid{source="billing"}', { bad: 0, good: 1 }),
    labels: { ...JOB, source: 'billing' },
  },
  ScopegatePolicySourceStale: {
    firing: [
      {
        series: {
          'scopegate_policy_source_last_fetch_timestamp_seconds{source="billing"}': values(
            [80, 0],
            [20, 4_800],
          ),
          'scopegate_policy_source_last_fetch_timestamp_seconds{source="billing",instance="b"}': '0+60x99',
        },
        ...{ from: 66, to: 79 },
      },
    ],
    quiet: [
      {
        'scopegate_policy_source_last_fetch_timestamp_seconds{source="billing"}': values(
          [50, 0],
          [40, 3_000],
        ),
      },
      { 'scopegate_policy_source_last_fetch_timestamp_seconds{source="billing"}': '-3600+60x60' },
    ],
    at: 70,
    labels: { ...JOB, source: 'billing' },
  },
  ScopegateAuthFailureSpike: {
    firing: [
      {
        series: decisions(
          ['invalid_token', 'invalid_proof', 'wrong_audience'],
          ...([
            [12, 54, 0],
            [20, 54, 15 / 54],
            [20, 90, 15 / 90],
          ] as const),
        ),
        ...{ from: 21, to: 34 },
      },
      { series: decisions(['invalid_token'], [12, 0, 0], [20, 40, 0.5], [20, 0, 0]), from: 21, to: 33 },
    ],
    quiet: [
      decisions(['invalid_token'], [40, 300, 0.2]),
      decisions(['invalid_token'], [40, 30, 1]),
      decisions(['insufficient_scope'], [40, 54, 0.5]),
      {
        'scopegate_auth_decisions_total{route="r",decision="challenge",reason="invalid_proof"}': '0+45x40',
      },
    ],
    at: 25,
    value: '27.78%',
  },
  ScopegateJwksRefreshFailed: {
    ...increase('scopegate_jwks_refresh_total{issuer="i",result="error"}', { minutes: 15, size: 3 }),
    quiet: [
      {
        'scopegate_jwks_refresh_total{issuer="i",result="error"}': step(2),
        'scopegate_jwks_refresh_total{issuer="i",result="ok"}': step(10),
      },
    ],
    labels: { ...JOB, issuer: 'i' },
  },
  ScopegateJwksStale: {
    firing: [
      {
        series: {
          'scopegate_jwks_last_success_timestamp_seconds{issuer="i"}': values([80, 0], [20, 4_800]),
          'scopegate_jwks_last_success_timestamp_seconds{issuer="i",instance="b"}': '0+60x99',
        },
        ...{ from: 66, to: 79 },
      },
    ],
    quiet: [
      { 'scopegate_jwks_last_success_timestamp_seconds{issuer="i"}': values([50, 0], [40, 3_000]) },
      { 'scopegate_jwks_last_success_timestamp_seconds{issuer="i"}': '-3600+60x60' },
    ],
    at: 70,
    labels: { ...JOB, issuer: 'i' },
    value: '1h 10m 0s',
  },
  ScopegateStaleTokensAccepted: {
    ...gauge('scopegate_token_stale_active{issuer="i"}', { bad: 1, good: 0 }),
    labels: { ...JOB, issuer: 'i' },
  },
  ScopegateRevocationChannelDown: {
    ...gauge('scopegate_revocation_channel_up{issuer="i"}', { bad: 0, good: 1, wait: 1 }),
    labels: { ...JOB, issuer: 'i' },
  },
  ScopegateRevocationGaps: {
    ...increase('scopegate_revocation_gaps_total', { minutes: 30, size: 4, less: 3 }),
    labels: TARGET,
  },
  ScopegateRateLimiterFallback: {
    firing: [
      {
        series: { 'scopegate_rate_limit_fallback_total{reason="away"}': growth([5, 0], [10, 1], [25, 0]) },
        ...{ from: 11, to: 19 },
      },
    ],
    quiet: [{ 'scopegate_rate_limit_fallback_total{reason="away"}': step() }],
    labels: { ...JOB, reason: 'away' },
  },
  ScopegateDpopReplayFallback: {
    firing: [
      {
        series: { scopegate_dpop_replay_fallback_total: growth([5, 0], [10, 1], [25, 0]) },
        from: 11,
        to: 19,
      },
    ],
    quiet: [{ scopegate_dpop_replay_fallback_total: step() }],
  },
  ScopegateCertificateExpiring: {
    ...gauge('scopegate_tls_certificate_expiry_seconds', {
      bad: 900 + 6 * 86_400,
      good: 900 + 8 * 86_400,
    }),
    // The time to the expiry is always exactly seven days.
    quiet: [{ scopegate_tls_certificate_expiry_seconds: `${7 * 86_400}+60x60` }],
    labels: TARGET,
    value: '6d 0h 0m 0s',
  },
  ScopegateSecretFileUnusable: {
    ...gauge('scopegate_secret_file_usable{setting="tls.key"}', { bad: 0, good: 1 }),
    labels: { ...JOB, setting: 'tls.key' },
  },
  ScopegateAuthorizationServerDown: {
    firing: [{ series: instances('scopegate_oauth_revocation_listeners', '0x5'), from: 12, to: 65 }],
    quiet: [instances('scopegate_oauth_revocation_listeners', '0x100')],
  },
  ScopegateStoreNotWritable: {
    ...gauge('scopegate_oauth_store_writable', { bad: 0, good: 1, wait: 1 }),
    labels: TARGET,
  },
  ScopegateStoreErrors: {
    ...increase('scopegate_oauth_store_errors_total{reason="away"}', { minutes: 5, size: 6, less: 5 }),
    labels: { ...JOB, reason: 'away' },
  },
  ScopegateRefreshTokenReused: increase('scopegate_oauth_refresh_reuse_total', { minutes: 15 }),
  ScopegateSignInFailures: {
    firing: [
      { series: signIns([12, 10, 0], [20, 10, 0.6], [20, 15, 0.4]), from: 21, to: 35 },
      { series: signIns([12, 0, 0], [20, 3, 1], [20, 0, 0]), from: 19, to: 35 },
    ],
    quiet: [signIns([40, 10, 0.5]), signIns([12, 0, 0], [1, 20, 1], [40, 0, 0])],
    at: 25,
    labels: { ...JOB, provider: 'local' },
    value: '60%',
  },
  ScopegateSignInsThrottled: increase('scopegate_oauth_sign_ins_throttled_total', {
    ...{ minutes: 10, size: 15, less: 10 },
  }),
  ScopegateAvailabilityBurnFast: burnFast(requests, {
    record: 'scopegate:availability_errors',
    budget: 0.001,
    value: '1.867%',
  }),
  ScopegateAvailabilityBurnSlow: burnSlow(requests, {
    record: 'scopegate:availability_errors',
    budget: 0.001,
    value: '0.3294%',
  }),
  ScopegateLatencyBurnFast: burnFast(responses, {
    record: 'scopegate:latency_errors',
    budget: 0.01,
    value: '18.67%',
  }),
  ScopegateLatencyBurnSlow: burnSlow(responses, {
    record: 'scopegate:latency_errors',
    budget: 0.01,
    value: '3.294%',
  }),
  ScopegateAuthorizationServerAvailabilityBurnFast: burnFast(oauthRequests('failed'), {
    ...{
      record: 'scopegate:oauth_availability_errors',
      budget: 0.001,
      value: '1.867%',
      quiet: [oauthRequests('slow')([60, 1_000, 0.9])],
    },
  }),
  ScopegateAuthorizationServerAvailabilityBurnSlow: burnSlow(oauthRequests('failed'), {
    ...{
      record: 'scopegate:oauth_availability_errors',
      budget: 0.001,
      value: '0.3294%',
      quiet: [oauthRequests('slow')([60, 1_000, 0.9])],
    },
  }),
  ScopegateAuthorizationServerLatencyBurnFast: burnFast(oauthRequests('slow'), {
    ...{
      record: 'scopegate:oauth_latency_errors',
      budget: 0.01,
      value: '18.67%',
      quiet: [oauthRequests('failed')([60, 1_000, 0.9])],
    },
  }),
  ScopegateAuthorizationServerLatencyBurnSlow: burnSlow(oauthRequests('slow'), {
    ...{
      record: 'scopegate:oauth_latency_errors',
      budget: 0.01,
      value: '3.294%',
      quiet: [oauthRequests('failed')([60, 1_000, 0.9])],
    },
  }),
}

/** Adds the labels of a target to a series. */
export function withTarget(series: string): string {
  const [, name = '', own = ''] = /^([\w:]+)(?:\{(.*)\})?$/.exec(series) ?? []
  const target = Object.entries(TARGET)
    .filter(([label]) => !new RegExp(`(?:^|,)${label}=`).test(own))
    .map(([label, value]) => `${label}="${value}"`)
  return `${name}{${[...target, ...(own === '' ? [] : [own])].join(',')}}`
}

export const labelsOf = ({ labels }: AlertCase): Readonly<Record<string, string>> => labels ?? JOB
