import type { Registry } from 'prom-client'
import { ConfigError } from '../platform/diagnostics/config-error.ts'
import { runSync } from '../platform/diagnostics/run-sliced.ts'
import { createFailureLog } from '../platform/logging/failure-log.ts'
import { writeLines } from '../platform/logging/logger.ts'
import { gracefulClose } from '../platform/net/graceful-close.ts'
import type { ReadinessCheck } from '../platform/ops/ops-server.ts'
import { explainListenError } from '../platform/process/listen-error.ts'
import { readPackageVersion } from '../platform/process/package-version.ts'
import { openSharedRedis } from '../platform/redis/shared-redis.ts'
import type { PolicySources } from '../policy-engine/load/policy-sources.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import { toResources } from './config/to-resources.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { openRateLimiter, type RateLimiter } from './limits/open-rate-limiter.ts'
import { openOverload } from './limits/overload/open-overload.ts'
import { createAccessLog } from './observability/access-log.ts'
import { createMetrics } from './observability/metrics.ts'
import { createRequestIds } from './observability/request-id.ts'
import { type UnreadRequest, unreadEntry } from './observability/unread-request.ts'
import { openEventReceiver } from './open-event-receiver.ts'
import { issuerChecks, openIssuers, sharedLevel, toCheck } from './open-issuers.ts'
import {
  createChannels,
  revocationChecks,
  revocationListener,
  revoker,
  sharedAgeMs,
  verdictCapMs,
} from './open-revocations.ts'
import { createPipeline, type Pipeline } from './pipeline/pipeline.ts'
import { createServer } from './server/server.ts'
import { type ShutdownOptions, shutdown } from './server/shutdown.ts'
import { openTls } from './server/tls/open-tls.ts'
import { compileTrustedProxies } from './server/trusted-proxies.ts'
import { checkSources } from './snapshot/reload/check-sources.ts'
import { openPolicyHolder, type PolicyHolder } from './snapshot/reload/policy-holder.ts'
import { readPolicySources } from './snapshot/reload/read-policy-sources.ts'
import { createSnapshotFactory } from './snapshot/snapshot-factory.ts'
import { openProofs } from './tokens/binding/open-proofs.ts'
import { TokenCache } from './tokens/cache/token-cache.ts'
import { createTokenValidator } from './tokens/cache/token-validator.ts'
import type { IssuerClient } from './tokens/issuer-client.ts'
import { createUpstream, type Upstream } from './upstreams/pool.ts'
import { systemAddresses } from './upstreams/system-addresses.ts'
import { createWebsocketSessions } from './upstreams/websocket/sessions.ts'

/** The part of a gateway that serves the public port: the whole gateway process, or one of its workers. */
export type GatewayRuntime = {
  readonly url: string
  readonly registry: Registry
  /** The active policies, and the way to replace them. */
  readonly policies: Pick<PolicyHolder, 'apply' | 'inForce'>
  checks(): readonly ReadinessCheck[]
  close(options?: ShutdownOptions): Promise<void>
}

const UPSTREAM_FAILED = { event: 'upstream_failed', message: 'an upstream gave no complete response' }
const ACCEPT_FAILED = {
  event: 'accept_failed',
  message: 'the system gave no connection to accept',
  level: 'error',
} as const
/**
 * Maximum time that the start waits for OpenAPI descriptions of the upstreams. Later ones are added then. Milliseconds.
 */
const FIRST_DESCRIPTION_MS = 1_000

/**
 * Opens everything that requests need, in the order of the dependencies, and listens on the public port.
 * @throws {BootError} for invalid policies, or an address that is not available.
 */
export async function createGatewayRuntime(options: GatewayOptions): Promise<GatewayRuntime> {
  const { config, logger, resolve = systemAddresses } = options
  const tickMs = options.tickMs ?? (() => performance.now())
  const resources = toResources(config)
  const check = (sources: PolicySources) => checkSources(sources, { config, resources })
  const first = runSync(check(options.policies ?? (await readPolicySources(config))))
  if ('problems' in first) throw new ConfigError(first.problems)
  const version = readPackageVersion()
  const failures = createFailureLog(logger)
  const channels = createChannels(config, { logger, failures })
  const cache = new TokenCache({
    ...config.tokenCache,
    capMs: (issuer) => verdictCapMs(config.tokenCache, channels, issuer),
  })
  let rateLimiter: RateLimiter | undefined
  let pipeline: Pipeline | undefined
  let issuers: readonly IssuerClient[] = []
  let draining = false
  const overload = openOverload({
    limits: config.overload,
    logger,
    processes: config.workers,
    readPressure: options.readPressure,
  })
  const metrics = createMetrics({
    version,
    logger,
    overload: () => overload.monitor,
    inFlight: () => pipeline?.inFlight ?? 0,
    cacheEntries: () => cache.entries,
    upstreams: () => [...upstreams.values()].map(({ name, targets }) => ({ name, state: targets.state })),
    issuers: () => issuers,
    heardIssuers: () =>
      config.issuers.flatMap(({ issuer }) =>
        channels.isConfigured(issuer) ? [{ issuer, isHeard: channels.isConnected(issuer) }] : [],
      ),
    rateLimitEntries: () => rateLimiter?.size ?? 0,
    websocketSessions: () => sessions.size,
  })

  const tls =
    config.tls === undefined
      ? undefined
      : openTls({ config: config.tls, registry: metrics.registry, nowMs: Date.now, logger })
  const upstreams = new Map<string, Upstream>(
    config.upstreams.map((settings) => [
      settings.name,
      createUpstream(settings, { meter: metrics.upstream(settings.name), resolve, tickMs, logger }),
    ]),
  )
  const sharedRedis =
    config.redis === undefined
      ? undefined
      : await openSharedRedis({ url: config.redis.url, logger, tickMs: () => performance.now() })
  issuers = await openIssuers(config, {
    metrics,
    shared: sharedLevel(config.tokenCache, {
      redis: sharedRedis,
      maxAgeMs: (issuer, sinceClearMs) => sharedAgeMs(config.tokenCache, channels, { issuer, sinceClearMs }),
    }),
    logger,
    failures,
  })
  const tokenValidator = createTokenValidator({
    issuers,
    cache,
    nowMs: Date.now,
    tickMs,
    observe: metrics.tokens,
  })
  const sessions = createWebsocketSessions({
    ...config.websockets,
    recheckMs: Math.min(config.tokenCache.maxTtlMs, config.tokenCache.ttlWithoutPushMs),
    doubtMs: config.tokenCache.maxTtlMs,
    validate: tokenValidator.validate,
    tickMs,
    pushed: channels.isConnected,
    nowMs: Date.now,
  })
  const receiveEvent = openEventReceiver(config, {
    issuers,
    revoke: revoker({ tokenValidator, sessions, metrics }),
    shared: sharedRedis,
    logger,
    failures,
  })
  const snapshots = createSnapshotFactory({
    ...options,
    resources,
    upstreams,
    metrics,
    version,
    receiveEvent,
    failures,
  })
  const policies = openPolicyHolder(first, {
    check,
    compile: snapshots.build,
    onApplied(applied) {
      metrics.policies(applied)
      for (const { code, place, message } of applied.warnings)
        logger.warn({ event: 'policy_warning', diagnostic: code, place }, message)
    },
  })

  const newRequestId = createRequestIds(Date.now)
  const accessLog = createAccessLog({
    write: logger.isLevelEnabled('info') ? writeLines(logger) : () => undefined,
    service: 'gateway',
    subject: config.log.subject,
  })
  rateLimiter = openRateLimiter({
    shared: sharedRedis,
    tickMs: () => performance.now(),
    onFallback: metrics.rateLimitFallback,
  })
  const limiter = rateLimiter
  const proofs = openProofs({
    shared: sharedRedis,
    nonceSecret: config.dpop.nonceSecret,
    onAlone: metrics.proofAlone,
    logger,
    failures,
  })
  const unmatchedMeter = metrics.route('-')
  pipeline = createPipeline({
    rateLimiter: limiter,
    proofs,
    clientCertificates: {
      header: config.clientCertificateHeader,
      listener: listenerOf(config.tls?.clientCertificates),
    },
    snapshot: policies.current,
    tokenValidator,
    baseUrl: config.baseUrl,
    rootResource: resources.root,
    limits: config.limits,
    tokenMeter: metrics.tokens,
    unmatchedMeter,
    accessLog,
    report: (event, requestId, error) => logger.warn({ event, request_id: requestId, err: error }, event),
    upstreamFailed: (upstream, requestId, error) =>
      failures.failed({ ...UPSTREAM_FAILED, place: { upstream } }, error, requestId),
    newRequestId,
    trustedProxies: compileTrustedProxies(config.trustedProxies),
    forwardedHeader: config.forwardedHeader,
    nowMs: Date.now,
    tickMs,
    sessions,
    overload: overload.monitor,
    onOverloaded: metrics.overloaded,
    onBroken: metrics.requestBroke,
    draining: () => draining || overload.monitor.closing,
  })
  const { handle, endStreams } = pipeline
  const onUnread = (unread: UnreadRequest): void => {
    unmatchedMeter.finished('', unread.status, 0)
    accessLog.add(unreadEntry(unread, Date.now()))
  }
  const server = createServer({
    headersLimitBytes: config.limits.headersBytes,
    handle,
    hasWebsockets: () => policies.current().hasWebsockets,
    newRequestId,
    connectionsLimit: Math.ceil(config.limits.connections / config.workers),
    onRefused: metrics.connectionRefused,
    onUnread,
    tls,
    onAcceptError: (error) => failures.failed(ACCEPT_FAILED, error),
  })
  const connections = gracefulClose(server.server)

  // Closers of the opened resources, in the order of shutdown.
  const closers: (() => Promise<void> | void)[] = [
    () => tls?.close(),
    () => overload.close(),
    () => sessions.close(),
    () => accessLog.flush(),
    () => sharedRedis?.close(),
    () => snapshots.close(),
    ...issuers.map((issuer) => () => issuer.close()),
    ...[...upstreams.values()].map((upstream) => () => upstream.close()),
    () => failures.close(),
    () => channels.close(),
  ]
  const close = async (how: ShutdownOptions = { how: 'accepting' }): Promise<void> => {
    draining = true
    await shutdown(how, { drain: config.drain, connections, endStreams, sessions, server, logger })
    for (const end of closers) await end()
  }

  try {
    await Promise.race([
      snapshots.refresh(),
      new Promise((resolve) => setTimeout(resolve, FIRST_DESCRIPTION_MS).unref()),
    ])
    await channels.open(revocationListener({ tokenValidator, sessions, metrics }))
    const url = await listen(server, config)
    const { hash, routes } = policies.inForce()
    logger.info({ event: 'serving', url, routes: routes.length, policy_hash: hash }, 'serving')
    return {
      url,
      registry: metrics.registry,
      policies,
      checks: () => [
        ...issuerChecks(issuers),
        ...(sharedRedis === undefined ? [] : [toCheck('redis', sharedRedis.trouble)]),
        ...revocationChecks(config.issuers, channels),
        { name: 'accepting', ok: !draining },
        overload.monitor.check(),
      ],
      close,
    }
  } catch (error) {
    await close({ how: 'now' })
    throw error
  }
}

async function listen(server: ReturnType<typeof createServer>, config: GatewayConfig): Promise<string> {
  const { host, port } = config.listen
  try {
    const url = await server.listen({ host, port })
    // Fastify returns an `http:` URL because it does not know about TLS.
    return config.tls === undefined ? url : url.replace(/^http:/, 'https:')
  } catch (error) {
    throw explainListenError(error, { service: 'gateway', host, port, setting: 'PORT or listen.port' })
  }
}

/** Returns how the gateway's own listener requests client certificates. */
function listenerOf(
  asked: NonNullable<GatewayConfig['tls']>['clientCertificates'],
): 'off' | 'any' | 'authority' {
  if (asked === undefined) return 'off'
  return asked.ca === undefined ? 'any' : 'authority'
}
