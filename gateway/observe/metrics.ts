import { Counter, Gauge, Registry } from 'prom-client'
import type { Logger } from '../../runtime/logger.ts'
import { collectProcessMetrics } from '../../runtime/process-metrics.ts'
import type { FallbackReason } from '../limits/shared-limiter.ts'
import type { CircuitState } from '../upstreams/circuit.ts'
import type { UpstreamFailureReason } from '../upstreams/upstream-failure.ts'
import type { Decision } from './decision.ts'
import { TalliedCounter } from './tallied-counter.ts'
import { TalliedHistogram } from './tallied-histogram.ts'

/** Counts what happens on one route. Children are bound once; labels never come from callers. */
export type RouteMeter = {
  finished(method: string, status: number, seconds: number): void
  decided(decision: Decision): void
  rateLimited(outcome: 'allowed' | 'limited'): void
  /** A WebSocket session ended with this close code. */
  sessionEnded(code: number): void
}

export type UpstreamMeter = {
  answered(status: number, seconds: number): void
  failed(reason: UpstreamFailureReason): void
  retried(): void
}

export type TokenMeter = {
  hit(): void
  miss(): void
  validated(cache: 'hit' | 'miss', seconds: number): void
}

export type Metrics = {
  readonly registry: Registry
  route(name: string): RouteMeter
  upstream(name: string): UpstreamMeter
  readonly tokens: TokenMeter
  /** Counts limits that were kept without Redis, although it is configured. */
  rateLimitFallback(reason: FallbackReason): void
  /** Counts a connection that was closed because there were too many. */
  readonly connectionRefused: () => void
  /** Counts an exception that one request ended with. */
  readonly requestBroke: () => void
  /** Replaces what is said about the policies. */
  policies(hash: string, routesOfPolicy: ReadonlyMap<string, number>): void
}

export type MetricsSources = {
  readonly version: string
  /** Of whose lines those are counted that were never written. */
  readonly logger: Logger
  readonly inFlight: () => number
  readonly cacheEntries: () => number
  readonly upstreams: () => readonly { readonly name: string; readonly state: CircuitState }[]
  readonly rateLimitEntries: () => number
  readonly websocketSessions: () => number
}

/** Those of the OpenTelemetry conventions for HTTP durations. Seconds. */
const HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
/** A cached token takes microseconds, an introspection milliseconds. Seconds. */
const TOKEN_BUCKETS = [0.000_01, 0.000_1, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** In the order of their numbers in `scopegate_circuit_state`. */
const CIRCUIT_STATES: readonly CircuitState[] = ['closed', 'half_open', 'open']

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Makes the one registry of a gateway. */
export function createMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const { requestBroke } = collectProcessMetrics(registry, sources.logger)

  const requests = new TalliedCounter({
    name: 'scopegate_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['route', 'method', 'code'],
    registers,
  })
  const durations = new TalliedHistogram<'route' | 'method' | 'code_class'>({
    name: 'scopegate_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    buckets: HTTP_BUCKETS,
    registers,
  })
  const decisions = new TalliedCounter({
    name: 'scopegate_auth_decisions_total',
    help: 'Decisions on API routes.',
    labelNames: ['route', 'decision', 'reason'],
    registers,
  })
  const rateLimits = new TalliedCounter({
    name: 'scopegate_rate_limit_total',
    help: 'Requests on routes with a rate limit.',
    labelNames: ['route', 'outcome'],
    registers,
  })
  const rateLimitFallbacks = new TalliedCounter({
    name: 'scopegate_rate_limit_fallback_total',
    help: 'Requests that this process counted by itself because Redis was away, given up, or failed.',
    labelNames: ['reason'],
    registers,
  })
  new Gauge({
    name: 'scopegate_rate_limit_entries',
    help: 'Callers that are counted in this process.',
    registers,
    collect() {
      this.set(sources.rateLimitEntries())
    },
  })
  const sessionsClosed = new Counter({
    name: 'scopegate_websocket_sessions_closed_total',
    help: 'WebSocket sessions that ended, by close code.',
    labelNames: ['route', 'code'],
    registers,
  })
  new Gauge({
    name: 'scopegate_websocket_sessions',
    help: 'WebSocket sessions that are open.',
    registers,
    collect() {
      this.set(sources.websocketSessions())
    },
  })
  const upstreamDurations = new TalliedHistogram<'upstream' | 'code_class'>({
    name: 'scopegate_upstream_request_duration_seconds',
    help: 'Time from forwarding a request to the first byte of the answer.',
    buckets: HTTP_BUCKETS,
    registers,
  })
  const upstreamErrors = new TalliedCounter({
    name: 'scopegate_upstream_errors_total',
    help: 'Requests that an upstream did not answer wholly.',
    labelNames: ['upstream', 'reason'],
    registers,
  })
  const upstreamRetries = new TalliedCounter({
    name: 'scopegate_upstream_retries_total',
    help: 'Requests that were sent to an upstream again.',
    labelNames: ['upstream'],
    registers,
  })
  new Gauge({
    name: 'scopegate_upstream_up',
    help: '1 while requests are sent to the upstream, 0 while all of its targets are ejected.',
    labelNames: ['upstream'],
    registers,
    collect() {
      for (const { name, state } of sources.upstreams())
        this.set({ upstream: name }, state === 'open' ? 0 : 1)
    },
  })
  new Gauge({
    name: 'scopegate_circuit_state',
    help: 'Of the healthiest target of the upstream: 0 closed, 1 half open, 2 open.',
    labelNames: ['upstream'],
    registers,
    collect() {
      for (const { name, state } of sources.upstreams())
        this.set({ upstream: name }, CIRCUIT_STATES.indexOf(state))
    },
  })
  const hits = new TalliedCounter({
    name: 'scopegate_token_cache_hits_total',
    help: 'Tokens whose verdict was known.',
    labelNames: ['kind'],
    registers,
  }).child({ kind: 'opaque' })
  const misses = new TalliedCounter({
    name: 'scopegate_token_cache_misses_total',
    help: 'Tokens that the issuer was asked about.',
    labelNames: ['kind'],
    registers,
  }).child({ kind: 'opaque' })
  const validations = new TalliedHistogram<'kind' | 'cache'>({
    name: 'scopegate_token_validation_duration_seconds',
    help: 'Time to know who a token belongs to.',
    buckets: TOKEN_BUCKETS,
    registers,
  })
  const validated = {
    hit: validations.child({ kind: 'opaque', cache: 'hit' }),
    miss: validations.child({ kind: 'opaque', cache: 'miss' }),
  }
  const policyInfo = new Gauge({
    name: 'scopegate_policy_info',
    aggregator: 'first', // the same in every worker
    help: '1 for the policies that are in force.',
    labelNames: ['hash'],
    registers,
  })
  const policyRoutes = new Gauge({
    name: 'scopegate_policy_routes',
    aggregator: 'first', // the same in every worker
    help: 'Routes of each policy.',
    labelNames: ['policy'],
    registers,
  })
  new Gauge({
    name: 'scopegate_build_info',
    aggregator: 'first', // the same in every worker
    help: '1 for the version that runs.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: sources.version, node: process.version }, 1)
  new Gauge({
    name: 'scopegate_http_requests_in_flight',
    help: 'Requests that are being answered.',
    registers,
    collect() {
      this.set(sources.inFlight())
    },
  })
  new Gauge({
    name: 'scopegate_token_cache_entries',
    help: 'Verdicts that are remembered.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.set({ kind: 'opaque' }, sources.cacheEntries())
    },
  })

  const fallback = keep((reason: FallbackReason) => rateLimitFallbacks.child({ reason }))

  const connectionsRefused = new Counter({
    name: 'scopegate_connections_refused_total',
    help: 'Connections closed because there were too many.',
    registers,
  })

  return {
    registry,
    requestBroke,
    connectionRefused: () => connectionsRefused.inc(),
    route(name) {
      const durationsOf = keep((method: string) =>
        keep((code_class: string) => durations.child({ route: name, method, code_class })),
      )
      const finished = keep((method: string) =>
        keep((status: number) => ({
          requests: requests.child({ route: name, method, code: String(status) }),
          durations: durationsOf(method)(codeClass(status)),
        })),
      )
      const decided = keep(({ decision, reason }: Decision) =>
        decisions.child({ route: name, decision, reason }),
      )
      const rateLimited = keep((outcome: 'allowed' | 'limited') => rateLimits.child({ route: name, outcome }))
      return {
        finished(method, status, seconds) {
          const children = finished(METHODS.has(method) ? method : '_OTHER')(status)
          children.requests.inc()
          children.durations.observe(seconds)
        },
        decided: (decision) => decided(decision).inc(),
        rateLimited: (outcome) => rateLimited(outcome).inc(),
        sessionEnded: (code) => sessionsClosed.inc({ route: name, code: closeCodeLabel(code) }),
      }
    },
    upstream(name) {
      const retries = upstreamRetries.child({ upstream: name })
      const durationOf = keep((code_class: string) => upstreamDurations.child({ upstream: name, code_class }))
      const answered = keep((status: number) => durationOf(codeClass(status)))
      const failed = keep((reason: UpstreamFailureReason) => upstreamErrors.child({ upstream: name, reason }))
      return {
        answered: (status, seconds) => answered(status).observe(seconds),
        failed: (reason) => failed(reason).inc(),
        retried: () => retries.inc(),
      }
    },
    tokens: {
      hit: () => hits.inc(),
      miss: () => misses.inc(),
      validated: (cache, seconds) => validated[cache].observe(seconds),
    },
    rateLimitFallback: (reason) => fallback(reason).inc(),
    policies(hash, routesOfPolicy) {
      policyInfo.reset()
      policyInfo.set({ hash }, 1)
      policyRoutes.reset()
      for (const [policy, count] of routesOfPolicy) policyRoutes.set({ policy }, count)
    },
  }
}

/** Makes each value once. Keys come from closed lists and status codes, so it stays small. */
function keep<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}

/** Applications choose codes from 3000 on as they like; a label comes from a closed list. */
function closeCodeLabel(code: number): string {
  return code >= 1000 && code <= 1015 ? String(code) : code >= 4000 ? '4xxx' : code >= 3000 ? '3xxx' : 'other'
}

function codeClass(status: number): string {
  return `${Math.floor(status / 100)}xx`
}
