import { Counter, Gauge, Registry } from 'prom-client'
import type { Logger } from '../../platform/logging/logger.ts'
import { collectProcessMetrics, registerBuildInfo } from '../../platform/process/process-metrics.ts'
import type { OverloadReason } from '../limits/overload/overload-level.ts'
import type { OverloadMonitor } from '../limits/overload/overload-monitor.ts'
import type { FallbackReason } from '../limits/shared-limiter.ts'
import type { TokenKind } from '../tokens/cache/token-kind.ts'
import type { IssuerMeter } from '../tokens/issuer-meter.ts'
import { BufferedCounter } from './buffered-counter.ts'
import { createIssuerMeters, type MeteredIssuer } from './issuer-metrics.ts'
import { memoize } from './memoize.ts'
import { addOverloadMetrics } from './overload-metrics.ts'
import { createPolicyMetrics, type FetchedSource, type MeteredPolicies } from './policy-metrics.ts'
import { createRouteMeters, type RouteMeter } from './route-meter.ts'
import { createTokenMeter, type TokenMeter } from './token-meter.ts'
import { createUpstreamMeters, type UpstreamLoad, type UpstreamMeter } from './upstream-meter.ts'

export type Metrics = RevocationMeter & {
  readonly registry: Registry
  /** Sets the sources of values. Each scrape reads these values. Before this call, these values are 0 or missing. */
  register(sources: MetricsSources): void
  route(name: string): RouteMeter
  upstream(name: string): UpstreamMeter
  readonly tokens: TokenMeter
  issuer(name: string): IssuerMeter
  /** Counts a rate limit decision that this process made without Redis, although Redis is configured. */
  rateLimitFallback(reason: FallbackReason): void
  /** Counts a DPoP proof whose replay check was local only, although Redis is configured. */
  readonly proofAlone: () => void
  readonly connectionRejected: () => void
  readonly overloaded: (reason: OverloadReason) => void
  readonly requestBroke: () => void
  /** Reports the active policies, and the upstreams that policy sources define. */
  policies(policies: MeteredPolicies & { readonly upstreams: readonly { readonly name: string }[] }): void
}

export type MetricsSources = {
  readonly pipeline: { readonly inFlight: number }
  readonly cache: { readonly entries: Readonly<Record<TokenKind, number>> }
  readonly upstreams: {
    readonly active: readonly {
      readonly name: string
      readonly targets: Pick<UpstreamLoad, 'state' | 'openConnections' | 'health'>
      readonly queue: { readonly size: number }
    }[]
  }
  readonly issuers: readonly MeteredIssuer[]
  readonly channels: { states(): readonly ChannelState[] }
  readonly rateLimiter: { readonly size: number }
  readonly sessions: { readonly size: number }
  readonly policySources: readonly FetchedSource[]
}

const NO_SOURCES: MetricsSources = {
  pipeline: { inFlight: 0 },
  cache: { entries: { jwt: 0, opaque: 0 } },
  upstreams: { active: [] },
  issuers: [],
  channels: { states: () => [] },
  rateLimiter: { size: 0 },
  sessions: { size: 0 },
  policySources: [],
}

/**
 * Creates the metrics of a gateway. Some sources of values do not exist yet. Pass these sources to `register()` later.
 */
export function createMetrics({
  version,
  logger,
  overload,
}: {
  readonly version: string
  /** The metrics count the lines that this sink dropped. */
  readonly logger: Logger
  readonly overload: OverloadMonitor
}): Metrics {
  let registered = NO_SOURCES
  const registry = new Registry()
  const registers: [Registry] = [registry]
  const { requestBroke } = collectProcessMetrics(registry, logger)

  const whenRead = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value())
      },
    })
  whenRead(
    'scopegate_rate_limit_entries',
    'Callers whose requests this process counts, for rate limits and shared limits.',
    () => registered.rateLimiter.size,
  )
  whenRead('scopegate_websocket_sessions', 'Open WebSocket sessions.', () => registered.sessions.size)
  whenRead('scopegate_http_requests_in_flight', 'Requests in progress.', () => registered.pipeline.inFlight)

  registerBuildInfo(registry, { service: 'gateway', version })
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
  const connectionsRejected = new Counter({
    name: 'scopegate_connections_refused_total',
    help: 'Connections closed because of the connection limit.',
    registers,
  })

  const routes = createRouteMeters(registers)
  const retire = retireSeries(routes.remove)
  const upstreams = createUpstreamMeters(registers, () =>
    registered.upstreams.active.map(({ name, targets, queue }) => ({
      name,
      state: targets.state,
      openConnections: targets.openConnections,
      pendingRequests: queue.size,
      health: targets.health,
    })),
  )
  const retireUpstreams = retireSeries(upstreams.remove)
  const updatePolicyMetrics = createPolicyMetrics(registers, () => registered.policySources)

  return {
    registry,
    register(sources) {
      registered = sources
    },
    route: routes.of,
    upstream: upstreams.of,
    tokens: createTokenMeter(registers, () => registered.cache.entries),
    overloaded: addOverloadMetrics(registry, overload),
    issuer: createIssuerMeters(registers, () => registered.issuers),
    ...createRevocationMeter(registers, () => registered.channels.states()),
    rateLimitFallback: (reason) => fallback(reason).inc(),
    proofAlone: () => proofsAlone.inc(),
    connectionRejected: () => connectionsRejected.inc(),
    requestBroke,
    policies(policies) {
      updatePolicyMetrics(policies)
      retire(policies.routes)
      retireUpstreams(policies.upstreams)
    },
  }
}

/**
 * Delay between the removal of a route or upstream and the removal of its series. During the delay, open requests can
 * finish, and a scrape can read the last values. Milliseconds.
 */
const RETIRE_AFTER_MS = 600_000

/**
 * Calls `remove` for routes or upstreams that the policies no longer contain, after a delay. Otherwise names that often
 * change would fill the memory. If a name returns during the delay, does not call `remove`.
 * @returns a function that receives the active routes or upstreams.
 */
export function retireSeries(
  remove: (name: string) => void,
  afterMs = RETIRE_AFTER_MS,
): (active: readonly { readonly name: string }[]) => void {
  let present: ReadonlySet<string> = new Set()
  return (active) => {
    const now = new Set(active.map(({ name }) => name))
    const gone = [...present].filter((name) => !now.has(name))
    present = now
    if (gone.length === 0) return
    setTimeout(() => {
      for (const name of gone) if (!present.has(name)) remove(name)
    }, afterMs).unref()
  }
}

export type RevocationMeter = {
  revocations(count: number): void
  /** Counts a revocation gap. After a gap, the gateway checks every cached token again. */
  revocationGap(): void
}

/** An issuer with a revocation channel, and the state of the channel. */
export type ChannelState = { readonly issuer: string; readonly isConnected: boolean }

/** Registers the metrics of revocations. Each scrape calls `states`. */
export function createRevocationMeter(
  registers: [Registry],
  states: () => readonly ChannelState[],
): RevocationMeter {
  new Gauge({
    name: 'scopegate_revocation_channel_up',
    help: '1 while the revocation channel of the issuer is connected, 0 while the channel is down and tokenCache.ttlWithoutPush applies.',
    labelNames: ['issuer'],
    registers,
    collect() {
      this.reset() // removes issuers that no longer have a channel
      for (const { issuer, isConnected } of states()) this.set({ issuer }, isConnected ? 1 : 0)
    },
  })
  const received = new Counter({
    name: 'scopegate_revocations_received_total',
    help: 'Received revocations; a revocation on two channels counts twice.',
    registers,
  })
  const gaps = new Counter({
    name: 'scopegate_revocation_gaps_total',
    help: 'Revocation gaps, after which the gateway checks every cached token again. Each channel counts one gap at its first connection.',
    registers,
  })
  return {
    revocations: (count) => received.inc(count),
    revocationGap: () => gaps.inc(),
  }
}
