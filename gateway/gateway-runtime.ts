import type { Registry } from 'prom-client'
import { openSecretFiles, type SecretFiles } from '../platform/config/secret-files.ts'
import { ConfigError } from '../platform/diagnostics/boot-error.ts'
import { runSync } from '../platform/diagnostics/run-sliced.ts'
import { createFailureLog, type FailureLog } from '../platform/logging/failure-log.ts'
import { type Logger, writeLines } from '../platform/logging/logger.ts'
import { createRequestIds } from '../platform/logging/request-id.ts'
import { gracefulClose } from '../platform/net/graceful-close.ts'
import { systemAddresses } from '../platform/net/resolve-name.ts'
import { systemSrvRecords } from '../platform/net/resolve-srv.ts'
import { explainListenError } from '../platform/process/listen-error.ts'
import { readPackageVersion } from '../platform/process/package-version.ts'
import { openSharedRedis, type SharedRedis } from '../platform/redis/shared-redis.ts'
import { openTracing } from '../platform/tracing/open-tracing.ts'
import type { Tracing } from '../platform/tracing/tracing.ts'
import type { PolicySources } from '../policy-engine/load/policy-sources.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import { toResources } from './config/to-resources.ts'
import { createWorkerConsole, type WorkerConsole } from './console/worker-console.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { openRateLimiter } from './limits/open-rate-limiter.ts'
import { openOverloadMonitor } from './limits/overload/overload-monitor.ts'
import { createAccessLog } from './observability/access-log.ts'
import { createDecisionRecorder, type DecisionRecorder } from './observability/decision-recorder.ts'
import { createMetrics, type Metrics } from './observability/metrics.ts'
import { type GatewayCheck, optionalGatewayCheck } from './observability/readiness-check.ts'
import { createClientCertificateMeter } from './observability/tls-metrics.ts'
import { type UnparsedRequest, unparsedEntry, unparsedRecord } from './observability/unparsed-request.ts'
import { createUpstreamTokenMeters } from './observability/upstream-token-metrics.ts'
import { adaptDenial } from './pipeline/decision-endpoint.ts'
import { createPipeline, type Pipeline } from './pipeline/pipeline.ts'
import type { PipelineOptions } from './pipeline/pipeline-options.ts'
import { compileTrustedProxies } from './server/client-address.ts'
import { createServer, type ServerOptions } from './server/server.ts'
import { type ShutdownOptions, shutdown } from './server/shutdown.ts'
import { openTls } from './server/tls/open-tls.ts'
import type { TlsOptions } from './server/tls/tls-server.ts'
import { checkSources } from './snapshot/reload/check-sources.ts'
import { openPolicyHolder, type PolicyHolder } from './snapshot/reload/policy-holder.ts'
import { readPolicySources } from './snapshot/reload/read-policy-sources.ts'
import { openSourceVersions } from './snapshot/reload/source-versions.ts'
import { createSnapshotFactory } from './snapshot/snapshot-factory.ts'
import { openProofs } from './tokens/binding/verify-dpop-proof.ts'
import { openTokens, SYSTEM_CLOCK, staleIfErrorOf } from './tokens/open-tokens.ts'
import { openEventReceiver } from './tokens/revocation/event-receiver.ts'
import { createRevoke, isPushed, revocationListener } from './tokens/revocation/open-revocations.ts'
import { openAccess, type UpstreamAccess } from './upstreams/credentials/open-access.ts'
import { canReadAfterWriteError } from './upstreams/read-after-write-error.ts'
import { createUpstream, type Upstream, type UpstreamSettings } from './upstreams/upstream.ts'
import { createUpstreamRegistry } from './upstreams/upstream-registry.ts'
import { createWebsocketSessions } from './upstreams/websocket/sessions.ts'

/** The part of a gateway that serves the public port: the whole gateway process, or one of its workers. */
export type GatewayRuntime = {
  readonly url: string
  readonly handle: Pipeline['handle']
  readonly registry: Registry
  readonly policies: Pick<PolicyHolder, 'apply' | 'active'>
  /** Undefined without a console. */
  readonly console: WorkerConsole | undefined
  checks(): readonly GatewayCheck[]
  close(options?: ShutdownOptions): Promise<void>
}

const SERVICE_NAME = 'scopegate-gateway'
const UPSTREAM_FAILED = { event: 'upstream_failed', message: 'an upstream did not send a complete response' }
const ACCEPT_FAILED = {
  event: 'accept_failed',
  message: 'the system could not accept a connection',
  level: 'error',
} as const
/**
 * Maximum time that the start waits for the OpenAPI descriptions of the upstreams. The gateway also adds descriptions
 * that arrive later. Milliseconds.
 */
const FIRST_DESCRIPTION_MS = 1_000
/** Maximum time that the start waits for SRV records. Milliseconds. */
const FIRST_TARGETS_MS = 2_000

/**
 * Opens all resources that requests need, in the order of their dependencies, and listens on the public port.
 * @throws {BootError} for invalid policies, or an address that is not available.
 */
export async function createGatewayRuntime(options: GatewayOptions): Promise<GatewayRuntime> {
  const { config, logger, resolve = systemAddresses, resolveSrv = systemSrvRecords } = options
  const tickMs = options.tickMs ?? (() => performance.now())
  const resources = toResources(config)
  // A gateway in another server has no management port.
  const hasConsole = options.handOver === undefined && config.management.console !== false
  const check = (sources: PolicySources) => checkSources(sources, { config, resources, hasConsole })
  const first = runSync(check(options.policies ?? (await readPolicies(options))))
  if ('problems' in first) throw new ConfigError(first.problems)
  const version = readPackageVersion()
  const failures = createFailureLog(logger)
  const drain = new AbortController()
  const overload = openOverloadMonitor({
    limits: config.overload,
    logger,
    processes: config.workers,
    readPressure: options.readPressure,
  })
  const metrics = createMetrics({ version, logger, overload: overload.monitor })
  const tracing = await openTracing({
    config: config.tracing,
    env: process.env,
    serviceName: SERVICE_NAME,
    version,
    registry: metrics.registry,
    logger,
  })
  const tls =
    config.tls === undefined
      ? undefined
      : openTls({ config: config.tls, registry: metrics.registry, nowMs: Date.now, logger })
  const readsEarlyResponses = await (options.canReadAfterWriteError ?? canReadAfterWriteError)()
  if (!readsEarlyResponses)
    logger.warn(
      { event: 'early_responses_unavailable' },
      'the self-test of the sockets to upstreams failed: a response that arrives before the end of its request may be lost',
    )
  const secretFiles = openSecretFiles({ registry: metrics.registry, logger })
  const accesses: UpstreamAccess[] = []
  const accessParts = {
    secretFiles,
    certificateMeter: createClientCertificateMeter(metrics.registry),
    tokenMeter: createUpstreamTokenMeters(metrics.registry),
    clock: { ...SYSTEM_CLOCK, tickMs },
    logger,
    failures,
  }
  const accessOf = (settings: UpstreamSettings): UpstreamAccess => {
    const access = openAccess(settings, accessParts)
    // An upstream of a policy source, which can be removed, has no access.
    if (settings.policySource === undefined) accesses.push(access)
    return access
  }
  const upstreams = createUpstreamRegistry(config.upstreams, (settings) =>
    createUpstream(
      options.handOver === undefined ? settings : { ...settings, healthCheck: undefined, isSrv: false },
      {
        access: accessOf(settings),
        meter: metrics.upstream(settings.name),
        resolve,
        resolveSrv,
        readsEarlyResponses,
        workers: config.workers,
        tickMs,
        logger,
      },
    ),
  )
  const sharedRedis =
    config.redis === undefined
      ? undefined
      : await openSharedRedis({ ...config.redis, logger, tickMs: () => performance.now() })
  const revocationRedis =
    config.revocationRedis === undefined
      ? sharedRedis
      : await openSharedRedis({
          ...config.revocationRedis,
          setting: 'revocationRedis',
          logger,
          tickMs: () => performance.now(),
        })
  const { issuers, channels, cache, validator, checks } = await openTokens(config, {
    metrics,
    secretFiles,
    redis: sharedRedis,
    revocationRedis,
    tickMs,
    tracing,
    logger,
    failures,
  })
  const sessions = createWebsocketSessions({
    ...config.websockets,
    recheckMs: Math.min(config.tokenCache.maxTtlMs, config.tokenCache.ttlWithoutPushMs),
    graceMs: config.tokenCache.maxTtlMs,
    staleIfErrorMs: ({ token, caller }) => staleIfErrorOf(config, token, caller.issuer),
    validate: validator.validate,
    tickMs,
    isPushed: (caller) => isPushed(caller, channels, issuers),
    nowMs: Date.now,
  })
  const receiveEvent = openEventReceiver(config, {
    issuers,
    revoke: createRevoke({ tokenValidator: validator, sessions, metrics }),
    shared: revocationRedis,
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
    tickMs,
  })
  const policies = openPolicyHolder(first, {
    check,
    compile: snapshots.build,
    onApplied(applied) {
      if (upstreams.activate(applied.upstreams)) void snapshots.refresh()
      metrics.policies(applied)
      for (const { code, location, message } of applied.warnings)
        logger.warn({ event: 'policy_warning', diagnostic: code, place: location }, message)
    },
  })

  const recorder = hasConsole ? createDecisionRecorder(tickMs) : undefined
  const { pipeline, rateLimiter, accessLog, server, connections, decisions } = await openRequestPath(config, {
    metrics,
    recorder,
    redis: sharedRedis,
    policies,
    pipeline: {
      rootResource: resources.root,
      tokenValidator: validator,
      sessions,
      overload: overload.monitor,
      draining: () => drain.signal.aborted || overload.monitor.closing,
      tickMs,
    },
    tls,
    tracing,
    secretFiles,
    logger,
    failures,
    handOver: options.handOver,
  })
  metrics.register({
    pipeline: {
      get inFlight() {
        return pipeline.inFlight + (decisions?.pipeline.inFlight ?? 0)
      },
    },
    cache,
    upstreams,
    issuers,
    channels,
    rateLimiter,
    sessions,
    policySources: config.policySources,
  })
  // Closers of the opened resources, in the order of shutdown.
  const closers: (() => Promise<void> | void)[] = [
    () => tls?.close(),
    secretFiles.close,
    () => overload.close(),
    () => sessions.close(),
    () => accessLog.flush(),
    () => sharedRedis?.close(),
    () => revocationRedis?.close(),
    () => snapshots.close(),
    ...issuers.map((issuer) => () => issuer.close()),
    upstreams.close,
    () => failures.close(),
    () => channels.close(),
    () => tracing?.close(),
  ]
  const close = async (how: ShutdownOptions = { how: 'graceful' }): Promise<void> => {
    drain.abort()
    const shared = { drain: config.drain, sessions, logger }
    await Promise.all([
      shutdown(how, { ...shared, connections, endStreams: pipeline.endStreams, server }),
      decisions &&
        shutdown(how, {
          ...shared,
          connections: decisions.connections,
          endStreams: decisions.pipeline.endStreams,
          server: decisions.server,
        }),
    ])
    for (const end of closers) await end()
  }

  try {
    await waitForTargets(upstreams.active)
    await Promise.race([
      snapshots.refresh(),
      new Promise((resolve) => setTimeout(resolve, FIRST_DESCRIPTION_MS).unref()),
    ])
    await channels.open(revocationListener({ tokenValidator: validator, sessions, metrics }))
    const url =
      options.handOver === undefined
        ? await listen(server, config, { ...config.listen, setting: 'PORT or listen.port' })
        : config.baseUrl
    if (decisions !== undefined && config.decisions !== undefined) {
      const address = { ...config.decisions.listen, setting: 'decisions.listen.port' }
      const decisionsUrl = await listen(decisions.server, config, address)
      logger.info({ event: 'serving_decisions', url: decisionsUrl }, 'serving decisions')
    }
    const { hash, routes } = policies.active()
    logger.info({ event: 'serving', url, routes: routes.length, policy_hash: hash }, 'serving')
    return {
      url,
      handle: pipeline.handle,
      registry: metrics.registry,
      policies,
      console:
        recorder &&
        createWorkerConsole({
          recorder,
          config,
          resources,
          snapshot: policies.current,
          tests: () => policies.active().tests,
          issuers,
        }),
      checks: () => [
        ...checks(),
        ...(sharedRedis === undefined ? [] : [optionalGatewayCheck('redis', 'redis', sharedRedis.problem)]),
        ...(revocationRedis === undefined || revocationRedis === sharedRedis
          ? []
          : [optionalGatewayCheck('redis', 'revocation redis', revocationRedis.problem)]),
        { kind: 'accepting', name: 'accepting', ok: !drain.signal.aborted },
        ...secretFiles.checks().map((check) => ({ kind: 'secret_files' as const, ...check })),
        ...accesses.flatMap((access) => access.checks()),
        ...upstreams.active.flatMap(upstreamChecks),
        overload.monitor.check(),
      ],
      close,
    }
  } catch (error) {
    await close({ how: 'immediate' })
    throw error
  }
}

/** Returns a degraded check for each unhealthy target of an upstream, and for SRV records with a problem. */
function upstreamChecks({ name, targets, srv }: Upstream): readonly GatewayCheck[] {
  const unhealthy = targets.health
    .filter(({ isHealthy }) => !isHealthy)
    .map(({ target }) =>
      optionalGatewayCheck('upstream_target', `${target} of upstream ${name}`, 'its health check fails'),
    )
  return srv?.problem === undefined
    ? unhealthy
    : [...unhealthy, optionalGatewayCheck('upstream_target', `SRV records of upstream ${name}`, srv.problem)]
}

/** Waits for the first lookup of SRV records, so that the first requests have targets. */
async function waitForTargets(upstreams: readonly Upstream[]): Promise<void> {
  const lookups = upstreams.flatMap(({ srv }) => srv?.first ?? [])
  if (lookups.length === 0) return
  await Promise.race([
    Promise.all(lookups),
    new Promise((resolve) => setTimeout(resolve, FIRST_TARGETS_MS).unref()),
  ])
}

/** Reads the policies on the disk, with the last valid versions of policy sources. */
async function readPolicies({ config, logger, validVersions }: GatewayOptions): Promise<PolicySources> {
  const versions = openSourceVersions({ dataDir: config.dataDir, known: validVersions, logger })
  return versions.attach(await readPolicySources(config))
}

/** Opens the part that handles requests: the pipeline with its limits and its log, and the public server. */
async function openRequestPath(
  config: GatewayConfig,
  parts: {
    readonly pipeline: Pick<
      PipelineOptions,
      'rootResource' | 'tokenValidator' | 'sessions' | 'overload' | 'draining' | 'tickMs'
    >
    readonly metrics: Metrics
    readonly recorder: DecisionRecorder | undefined
    /** Undefined: the gateway uses no Redis. */
    readonly redis: SharedRedis | undefined
    readonly policies: PolicyHolder
    readonly tls: TlsOptions | undefined
    readonly tracing: Tracing | undefined
    readonly secretFiles: SecretFiles
    readonly logger: Logger
    readonly failures: FailureLog
    readonly handOver: GatewayOptions['handOver']
  },
) {
  const { metrics, redis, policies, tracing, logger, failures } = parts
  const newRequestId = createRequestIds(Date.now)
  const accessLog = createAccessLog({
    write: writeLines(logger),
    isEnabled: () => logger.isLevelEnabled('info'),
    service: 'gateway',
    subject: config.log.subject,
  })
  const rateLimiter = openRateLimiter({
    shared: redis,
    tickMs: () => performance.now(),
    onFallback: metrics.rateLimitFallback,
  })
  const proofs = openProofs({
    shared: redis,
    dpop: config.dpop,
    secretFiles: parts.secretFiles,
    onAlone: metrics.proofAlone,
    logger,
    failures,
  })
  const unmatchedMeter = metrics.route('-')
  const pipelineOptions: PipelineOptions = {
    ...parts.pipeline,
    rateLimiter,
    proofs,
    clientCertificates: {
      header: config.clientCertificateHeader,
      listener: listenerOf(config.tls?.clientCertificates),
    },
    snapshot: policies.current,
    baseUrl: config.baseUrl,
    limits: config.limits,
    tokenMeter: metrics.tokens,
    unmatchedMeter,
    accessLog,
    decisionRecorder: parts.recorder,
    tracing: tracing && { ...tracing, trustIncoming: config.tracing?.trustIncoming ?? 'trusted-proxies' },
    report: (event, requestId, clientAddress, error) =>
      logger.warn({ event, request_id: requestId, 'client.address': clientAddress, err: error }, event),
    upstreamFailed: (upstream, requestId, error) =>
      failures.failed({ ...UPSTREAM_FAILED, fields: { upstream } }, error, requestId),
    newRequestId,
    trustedProxies: compileTrustedProxies(config.trustedProxies),
    forwardedHeader: config.forwardedHeader,
    nowMs: Date.now,
    onOverloaded: metrics.overloaded,
    onBroken: metrics.requestBroke,
  }
  const pipeline = createPipeline(pipelineOptions, parts.handOver)
  const onUnparsed = (unparsed: UnparsedRequest): void => {
    unmatchedMeter.finished('', unparsed.status, 0)
    const entry = unparsedEntry(unparsed, Date.now())
    if (accessLog.isEnabled) accessLog.add(entry)
    parts.recorder?.add(unparsedRecord(unparsed, entry))
  }
  const serverOptions: ServerOptions = {
    headersLimitBytes: config.limits.headersBytes,
    handle: pipeline.handle,
    hasWebsockets: () => policies.current().hasWebsockets,
    newRequestId,
    connectionsLimit: Math.ceil(config.limits.connections / config.workers),
    onConnectionRejected: metrics.connectionRejected,
    onUnparsed,
    tls: parts.tls,
    onAcceptError: (error) => failures.failed(ACCEPT_FAILED, error),
  }
  // Loads the modules of HTTP/2 only if they are needed.
  const http2 =
    config.tls?.http2 === true
      ? (await import('./server/http2/http2-listener.ts')).createHttp2Listener({
          ...serverOptions,
          tickMs: parts.pipeline.tickMs,
        })
      : undefined
  const server = createServer({ ...serverOptions, http2 })
  return {
    pipeline,
    rateLimiter,
    accessLog,
    server,
    connections: gracefulClose(server.server, http2?.closeRules),
    decisions:
      parts.handOver === undefined && config.decisions !== undefined
        ? await openDecisions(config.decisions, pipelineOptions, serverOptions)
        : undefined,
  }
}

/** Opens the decision endpoint, which shares everything except its stages and its port with the public server. */
async function openDecisions(
  { protocol, headers }: NonNullable<GatewayConfig['decisions']>,
  pipelineOptions: PipelineOptions,
  serverOptions: ServerOptions,
) {
  const pipeline = createPipeline({
    ...pipelineOptions,
    forwardedHeader: headers?.clientAddress ?? pipelineOptions.forwardedHeader,
    decisionProtocol: protocol,
    decisionHeaders: headers,
  })
  const options = { ...serverOptions, handle: pipeline.handle, hasWebsockets: () => false }
  if (protocol === 'ext-authz-grpc') {
    // Loads the modules of HTTP/2 only if they are needed.
    const { createCheckServer } = await import('./ext-authz/check-server.ts')
    const { trustedProxies, forwardedHeader, limits } = pipelineOptions
    const check = { ...options, trustedProxies, forwardedHeader, targetLimitBytes: limits.targetBytes }
    return { pipeline, ...createCheckServer(check) }
  }
  const server = createServer({
    ...options,
    adaptDenial: protocol === 'auth-request' ? adaptDenial : undefined,
  })
  return { pipeline, server, connections: gracefulClose(server.server) }
}

async function listen(
  server: ReturnType<typeof createServer>,
  config: GatewayConfig,
  address: { readonly host: string; readonly port: number; readonly setting: string },
): Promise<string> {
  const { host, port, setting } = address
  try {
    const url = await server.listen({ host, port })
    // Fastify always returns an `http:` URL, because `serverFactory` creates the TLS server.
    return config.tls === undefined ? url : url.replace(/^http:/, 'https:')
  } catch (error) {
    throw explainListenError(error, { service: 'gateway', host, port, setting })
  }
}

/** Returns how the gateway's own listener requests client certificates. */
function listenerOf(
  asked: NonNullable<GatewayConfig['tls']>['clientCertificates'],
): 'off' | 'any' | 'authority' {
  if (asked === undefined) return 'off'
  return asked.ca === undefined ? 'any' : 'authority'
}
