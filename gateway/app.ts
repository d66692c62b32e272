import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import type { Registry } from 'prom-client'
import { ENDPOINTS } from '../oauth/endpoints.ts'
import { protectedResourceMetadataUrl } from '../oauth/metadata.ts'
import { ConfigError } from '../runtime/config-error.ts'
import { hasErrors } from '../runtime/diagnostic.ts'
import { closeGently } from '../runtime/gentle-close.ts'
import { explainListenError } from '../runtime/listen-error.ts'
import type { Logger } from '../runtime/logger.ts'
import { type ReadinessCheck, startOpsServer } from '../runtime/ops-server.ts'
import { readPackageVersion } from '../runtime/package-version.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import { assertionKeysDocument } from './documents/assertion-keys.ts'
import { authWalkthroughDocument } from './documents/auth-md.ts'
import { landingDocument } from './documents/landing.ts'
import { createOpenapiDocument } from './documents/openapi-document.ts'
import { protectedResourceDocument } from './documents/protected-resource.ts'
import { openAssertionKeys } from './identity/assertion-keys.ts'
import { createAssertions } from './identity/assertions.ts'
import { createIntrospector } from './identity/introspect.ts'
import { type RevocationsSubscription, subscribeToRevocations } from './identity/revocations.ts'
import { createTokenVerdicts } from './identity/token-verdicts.ts'
import { VerdictCache } from './identity/verdict-cache.ts'
import { openRateLimiter, type RateLimiter } from './limits/open-rate-limiter.ts'
import { createAccessLog } from './observe/access-log.ts'
import { createMetrics } from './observe/metrics.ts'
import { createRequestIds } from './observe/request-id.ts'
import { createPipeline, type Pipeline } from './pipeline/pipeline.ts'
import { compileTrustedProxies } from './pipeline/trusted-proxies.ts'
import { type LoadedPolicies, loadPolicies } from './routes/load-policies.ts'
import { buildRouteTable } from './routes/route-table.ts'
import { createServer } from './server.ts'
import { buildSnapshot } from './snapshot.ts'
import { createUpstream, type Upstream } from './upstreams/pool.ts'
import { createWebsocketSessions } from './upstreams/websocket/sessions.ts'

/** A gateway that listens. */
export type Gateway = {
  readonly url: string
  readonly managementUrl: string
  /** Readiness turns first; requests are taken until that was noticed; what is under way is answered; then everything ends. */
  close(options?: StopOptions): Promise<void>
}

/** The part of a gateway that serves the public port; a worker is one of several. */
export type Serving = {
  readonly url: string
  readonly registry: Registry
  checks(): readonly ReadinessCheck[]
  close(options?: StopOptions): Promise<void>
}

export type StopOptions = {
  /**
   * `accepting`: it accepts for the drain delay, until load balancers have noticed. `retiring`: others listen on the
   * same port, so it stops accepting at once, and lets clients use their connections once more. `now`: nobody has to notice.
   */
  readonly how: 'accepting' | 'retiring' | 'now'
}

/** Tokens that may be asked about at once, those waiting for a connection included. */
const MAX_INTROSPECTIONS = 1_024
/** The start waits this long for upstreams to describe themselves; the description is completed later. Milliseconds. */
const FIRST_DESCRIPTION_MS = 1_000

const tickMs = (): number => performance.now()
export type GatewayOptions = {
  readonly config: GatewayConfig
  readonly logger: Logger
  /** In a worker, without a key file: what all workers sign assertions with. PEM. */
  readonly assertionKey?: string | undefined
}

/**
 * Starts the gateway in this process: public server and management server.
 * @throws {BootError} for policies that are not valid, or an address that cannot be had.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, logger } = options
  const serving = await serve(options)
  try {
    const ops = await startOpsServer({
      ...config.management,
      service: 'gateway',
      version: readPackageVersion(),
      registry: serving.registry,
      checks: serving.checks,
      logger,
    })
    logger.info({ event: 'listening', url: serving.url, management_url: ops.url }, 'the gateway listens')
    return {
      url: serving.url,
      managementUrl: ops.url,
      async close(how) {
        await serving.close(how)
        await ops.close()
      },
    }
  } catch (error) {
    await serving.close({ how: 'now' })
    throw error
  }
}

/**
 * Serves the public port.
 * @throws {BootError} for policies that are not valid, or an address that cannot be had.
 */
export async function serve(options: GatewayOptions): Promise<Serving> {
  const { config, logger } = options
  const policies = readPolicies(config, logger)
  const version = readPackageVersion()
  const cache = new VerdictCache(config.tokenCache)
  let rateLimiter: RateLimiter | undefined
  let pipeline: Pipeline | undefined
  let subscription: RevocationsSubscription | undefined
  let draining = false
  const metrics = createMetrics({
    version,
    inFlight: () => pipeline?.inFlight ?? 0,
    cacheEntries: () => cache.size,
    upstreams: () => [...upstreams.values()].map(({ name, targets }) => ({ name, state: targets.state })),
    rateLimitEntries: () => rateLimiter?.size ?? 0,
    websocketSessions: () => sessions.size,
  })
  metrics.policies(policies.hash, countRoutes(policies))

  const upstreams = new Map<string, Upstream>(
    config.upstreams.map((settings) => [
      settings.name,
      createUpstream(settings, { meter: metrics.upstream(settings.name), tickMs }),
    ]),
  )
  const { issuer, introspection, revocations } = config.issuer
  const introspector = createIntrospector({ issuer, ...introspection, nowSeconds: () => Date.now() / 1_000 })
  const verdicts = createTokenVerdicts({
    issuerId: `${issuer} ${introspection.endpoint} ${introspection.clientId}`,
    cache,
    introspect: introspector.introspect,
    nowMs: Date.now,
    maxFlights: MAX_INTROSPECTIONS,
    observe: metrics.tokens,
  })

  const sessions = createWebsocketSessions({
    ...config.websockets,
    recheckMs: config.tokenCache.maxTtlMs,
    verdictOf: verdicts.verdictOf,
    pushed: () => subscription?.connected === true,
    nowMs: Date.now,
  })

  const openapi = createOpenapiDocument({
    baseUrl: config.baseUrl,
    name: config.name,
    version,
    catalogue: config.catalogue,
    routes: policies.routes,
    match: buildRouteTable(policies.routes).match,
    upstreams: [...upstreams.values()],
    logger,
  })
  const assertionKeys = openAssertionKeys({
    ...config.assertion,
    sharedKey: options.assertionKey,
    nowMs: Date.now,
    logger,
  })
  const snapshot = buildSnapshot({
    policyRoutes: policies.routes,
    policyHash: policies.hash,
    upstreams,
    authorizationServer: config.authorizationServer?.upstream,
    documents: {
      ...staticDocuments(config, policies),
      openapi: openapi.document,
      assertionKeys: assertionKeysDocument(() => assertionKeys.ring.publishedKeys(Date.now())),
    },
    bodyLimitBytes: config.limits.bodyBytes,
    assertFor: createAssertions({
      issuer: config.baseUrl,
      ttlSeconds: config.assertion.ttlSeconds,
      ring: assertionKeys.ring,
    }),
    routeMeter: metrics.route,
  })

  const newRequestId = createRequestIds(Date.now)
  const accessLog = createAccessLog({
    write: logger.isLevelEnabled('info') ? logStream(logger) : () => undefined,
    service: 'gateway',
    subject: config.log.subject,
  })
  rateLimiter = await openRateLimiter({
    redis: config.redis,
    logger,
    tickMs: () => performance.now(),
    onFallback: metrics.rateLimitFallback,
  })
  const limiter = rateLimiter
  pipeline = createPipeline({
    rateLimiter: limiter,
    snapshot: () => snapshot,
    verdicts,
    baseUrl: config.baseUrl,
    resourceMetadata: protectedResourceMetadataUrl(config.baseUrl),
    tokenEndpoint:
      config.authorizationServer === undefined ? undefined : `${config.baseUrl}${ENDPOINTS.token}`,
    limits: config.limits,
    tokenMeter: metrics.tokens,
    unmatchedMeter: metrics.route('-'),
    accessLog,
    report: (event, requestId, error) => logger.warn({ event, request_id: requestId, err: error }, event),
    newRequestId,
    trustedProxies: compileTrustedProxies(config.trustedProxies),
    forwardedHeader: config.forwardedHeader,
    nowMs: Date.now,
    tickMs,
    sessions,
    draining: () => draining,
  })
  const server = createServer({
    headersLimitBytes: config.limits.headersBytes,
    handle: pipeline.handle,
    hasWebsockets: () => snapshot.hasWebsockets,
    newRequestId,
    connectionsLimit: Math.ceil(config.limits.connections / config.workers),
    onRefused: metrics.connectionRefused,
    onAcceptError: (error) =>
      logger.error({ event: 'accept_failed', err: error }, 'no connection could be accepted'),
  })

  const connections = closeGently(server.server)
  async function stop({ how }: StopOptions = { how: 'accepting' }): Promise<void> {
    draining = true
    const { delayMs, graceMs } = config.drain
    const startedMs = performance.now()
    connections.announce()
    if (how === 'accepting') await wait(delayMs)
    // What would go on for ever ends now: its clients come again, elsewhere.
    pipeline?.endStreams()
    const sessionsOver = sessions.drain()
    const cut = await connections.finish({
      graceMs: Math.max(0, graceMs - (performance.now() - startedMs)),
      ...(how === 'retiring' ? { quietMs: delayMs } : {}),
    })
    if (cut > 0) logger.warn({ event: 'connections_cut', connections: cut }, 'what was still open was cut')
    await sessionsOver
    await server.close()
  }

  // What was opened, in the order in which it ends.
  const closers: (() => Promise<void> | void)[] = [
    () => sessions.close(),
    () => accessLog.flush(),
    () => limiter.close(),
    () => openapi.close(),
    () => assertionKeys.close(),
    () => introspector.close(),
    ...[...upstreams.values()].map((upstream) => () => upstream.close()),
  ]
  const close = async (how?: StopOptions): Promise<void> => {
    await stop(how)
    for (const end of closers) await end()
  }

  try {
    await Promise.race([
      openapi.refresh(),
      new Promise((resolve) => setTimeout(resolve, FIRST_DESCRIPTION_MS).unref()),
    ])
    const url = await listen(server, config)
    if (revocations !== undefined) {
      subscription = subscribeToRevocations({
        url: revocations,
        clientId: introspection.clientId,
        clientSecret: introspection.clientSecret,
        onRevoked: (grant) => {
          verdicts.revoke(grant)
          sessions.revoke(grant)
        },
        onConnected: () => {
          verdicts.clear()
          sessions.recheck()
        },
        logger,
        random: Math.random,
      })
      closers.push(() => subscription?.close())
    }
    logger.info(
      { event: 'serving', url, routes: policies.routes.length, policy_hash: policies.hash },
      'serving',
    )
    return {
      url,
      registry: metrics.registry,
      checks: () => [
        { name: 'policies', ok: true, detail: `${policies.routes.length} routes` },
        { name: 'accepting', ok: !draining },
      ],
      close,
    }
  } catch (error) {
    await close({ how: 'now' })
    throw error
  }
}

function readPolicies(config: GatewayConfig, logger: Logger): LoadedPolicies {
  const policies = loadPolicies({
    dir: config.policiesDir,
    catalogue: config.catalogue,
    upstreams: new Set(config.upstreams.map((upstream) => upstream.name)),
  })
  if (hasErrors(policies.diagnostics)) throw new ConfigError(policies.diagnostics)
  for (const warning of policies.diagnostics)
    logger.warn({ event: 'policy_warning', code: warning.code, place: warning.place }, warning.message)
  return policies
}

function countRoutes(policies: LoadedPolicies): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { policy } of policies.routes) counts.set(policy, (counts.get(policy) ?? 0) + 1)
  return counts
}

function staticDocuments(config: GatewayConfig, policies: LoadedPolicies) {
  const landing = landingDocument(config)
  const protectedResource = protectedResourceDocument({
    baseUrl: config.baseUrl,
    name: config.name,
    issuers: [config.issuer.issuer],
    catalogue: config.catalogue,
    routes: policies.routes,
  })
  const authWalkthrough = authWalkthroughDocument({
    baseUrl: config.baseUrl,
    name: config.name,
    issuer: config.issuer.issuer,
    bundledAuthorizationServer: config.authorizationServer !== undefined,
    catalogue: config.catalogue,
    routes: policies.routes,
    limits: config.limits,
  })
  return { landing, protectedResource: () => protectedResource, authWalkthrough: () => authWalkthrough }
}

/** The stream that the logger writes to, so that access lines and log lines stay in one order. */
function logStream(logger: Logger): (lines: string) => void {
  const stream = (logger as unknown as Record<symbol, { write(text: string): void }>)[pino.symbols.streamSym]
  if (stream === undefined) throw new Error('this logger has no stream')
  return (lines) => stream.write(lines)
}

async function listen(server: ReturnType<typeof createServer>, config: GatewayConfig): Promise<string> {
  const { host, port } = config.listen
  try {
    return await server.listen({ host, port })
  } catch (error) {
    throw explainListenError(error, { service: 'gateway', host, port, setting: 'PORT or listen.port' })
  }
}
