import { Counter, Gauge, Registry } from 'prom-client'
import type { Logger } from '../../platform/logging/logger.ts'
import { collectProcessMetrics } from '../../platform/process/process-metrics.ts'
import type { OverloadReason } from '../limits/overload/overload-level.ts'
import type { OverloadMonitor } from '../limits/overload/overload-monitor.ts'
import type { FallbackReason } from '../limits/shared-limiter.ts'
import type { TokenKind } from '../tokens/cache/token-kind.ts'
import type { IssuerMeter } from '../tokens/issuer-meter.ts'
import type { CircuitState } from '../upstreams/circuit.ts'
import { BufferedCounter } from './buffered-counter.ts'
import { createIssuerMeters, type MeteredIssuer } from './issuer-metrics.ts'
import { memoize } from './memoize.ts'
import { addOverloadMetrics } from './overload-metrics.ts'
import { createPolicyMetrics, type MeteredPolicies } from './policy-metrics.ts'
import { retireRoutes } from './retire-routes.ts'
import { createRevocationMeter, type HeardIssuer, type RevocationMeter } from './revocation-metrics.ts'
import { createRouteMeters, type RouteMeter } from './route-meter.ts'
import { createTokenMeter, type TokenMeter } from './token-meter.ts'
import { createUpstreamMeters, type UpstreamMeter } from './upstream-meter.ts'

export type Metrics = RevocationMeter & {
  readonly registry: Registry
  route(name: string): RouteMeter
  upstream(name: string): UpstreamMeter
  readonly tokens: TokenMeter
  issuer(name: string): IssuerMeter
  /** Counts a rate limit decision without Redis, although Redis is configured. */
  rateLimitFallback(reason: FallbackReason): void
  /** Counts a DPoP proof whose replay check was local only, although Redis is configured. */
  readonly proofAlone: () => void
  /** Counts a connection that was closed because of the connection limit. */
  readonly connectionRefused: () => void
  /** Counts a request that was rejected because of overload. */
  readonly overloaded: (reason: OverloadReason) => void
  readonly requestBroke: () => void
  policies(policies: MeteredPolicies): void
}

/** Sources of the values that are read on each scrape. */
export type MetricsSources = {
  readonly version: string
  readonly overload: () => OverloadMonitor
  /** Its dropped lines are counted. */
  readonly logger: Logger
  readonly inFlight: () => number
  readonly cacheEntries: () => Readonly<Record<TokenKind, number>>
  readonly upstreams: () => readonly { readonly name: string; readonly state: CircuitState }[]
  readonly issuers: () => readonly MeteredIssuer[]
  readonly heardIssuers: () => readonly HeardIssuer[]
  readonly rateLimitEntries: () => number
  readonly websocketSessions: () => number
}

export function createMetrics(sources: MetricsSources): Metrics {
  const registry = new Registry()
  const registers: [Registry] = [registry]
  const { requestBroke } = collectProcessMetrics(registry, sources.logger)

  const whenRead = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value())
      },
    })
  whenRead('scopegate_rate_limit_entries', 'Rate limit counters in this process.', sources.rateLimitEntries)
  whenRead('scopegate_websocket_sessions', 'Open WebSocket sessions.', sources.websocketSessions)
  whenRead('scopegate_http_requests_in_flight', 'Requests in progress.', sources.inFlight)

  new Gauge({
    name: 'scopegate_build_info',
    aggregator: 'first', // the same in every worker
    help: '1 for the running version.',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version: sources.version, node: process.version }, 1)
  const rateLimitFallbacks = new BufferedCounter({
    name: 'scopegate_rate_limit_fallback_total',
    help: 'Rate limit decisions without Redis because Redis was unavailable or failed.',
    labelNames: ['reason'],
    registers,
  })
  const fallback = memoize((reason: FallbackReason) => rateLimitFallbacks.child({ reason }))
  const proofsAlone = new Counter({
    name: 'scopegate_dpop_replay_fallback_total',
    help: 'DPoP proofs whose replay check was local because Redis was unavailable or failed.',
    registers,
  })
  const connectionsRefused = new Counter({
    name: 'scopegate_connections_refused_total',
    help: 'Connections closed because of the connection limit.',
    registers,
  })

  const routes = createRouteMeters(registers)
  const retire = retireRoutes(routes.forget)
  const updatePolicyMetrics = createPolicyMetrics(registers)

  return {
    registry,
    route: routes.of,
    upstream: createUpstreamMeters(registers, sources.upstreams),
    tokens: createTokenMeter(registers, sources.cacheEntries),
    overloaded: addOverloadMetrics(registry, sources.overload),
    issuer: createIssuerMeters(registers, sources.issuers),
    ...createRevocationMeter(registers, sources.heardIssuers),
    rateLimitFallback: (reason) => fallback(reason).inc(),
    proofAlone: () => proofsAlone.inc(),
    connectionRefused: () => connectionsRefused.inc(),
    requestBroke,
    policies(policies) {
      updatePolicyMetrics(policies)
      retire(policies.routes)
    },
  }
}
