import type { CircuitRules } from '../../platform/circuit-breaker.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { ResolveName } from '../../platform/net/resolve-name.ts'
import type { ResolveSrv } from '../../platform/net/resolve-srv.ts'
import type { UpstreamMeter } from '../observability/upstream-meter.ts'
import type { CertificateFiles } from '../server/tls/certificate-source.ts'
import { basePathOf } from './base-path-of.ts'
import type { UpstreamCredential } from './credentials/credential.ts'
import type { CredentialConfig, UpstreamAccess } from './credentials/open-access.ts'
import { guardAddresses } from './guard-addresses.ts'
import type { HealthCheckSettings } from './health-check.ts'
import { RESOLVE_EVERY_MS } from './name-addresses.ts'
import { RequestQueue } from './request-queue.ts'
import { SrvRecords, type SrvTarget } from './srv-records.ts'
import { type EjectionCause, Target } from './target.ts'
import { type TargetGroup, TargetSet } from './target-set.ts'

export type Upstream = {
  /** The name that policies refer to. */
  readonly name: string
  /** Path prefix of every request; empty if the URLs have no path. */
  readonly basePath: string
  readonly targets: TargetSet
  /** Undefined: the configuration contains the addresses. */
  readonly srv: Pick<SrvRecords, 'first' | 'problem'> | undefined
  readonly queue: RequestQueue
  readonly retryBudget: RetryBudget
  readonly meter: UpstreamMeter
  /**
   * Default for the time from the request to the first byte of the response. Routes may override this default.
   * Milliseconds.
   */
  readonly timeoutMs: number
  /**
   * Default for the longest stall inside a response, caused by the upstream or by the client. Routes may override this
   * default. Milliseconds.
   */
  readonly idleTimeoutMs: number
  readonly openapiPath: string | undefined
  /** The header with which the gateway authenticates. undefined: the upstream gets no credential of the gateway. */
  readonly credential: UpstreamCredential | undefined
  /** Closes the connections after their current requests. Called when policies no longer use the upstream. */
  retire(): Promise<void>
  close(): Promise<void>
}

/**
 * Settings of an upstream, from config/upstreams.yaml or from a policy source.
 * - `timeoutMs`: default time to the first byte of a response
 * - `connectTimeoutMs`: connection setup, including TLS
 * - `idleTimeoutMs`: default for the longest stall inside a response
 */
export type UpstreamSettings = {
  readonly name: string
  /** One or more URLs, all with the same path. With `isSrv`: the URL whose host is the name of SRV records. */
  readonly urls: readonly string[]
  /** Whether SRV records contain the targets. RFC 2782. */
  readonly isSrv: boolean
  /** The weight of each URL, 1 or more. Undefined: the target with the fewest outstanding requests is next. */
  readonly weights: readonly number[] | undefined
  readonly timeoutMs: number
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly ejection: CircuitRules
  readonly connections: ConnectionLimits
  /** Undefined: no health check. */
  readonly healthCheck: HealthCheckSettings | undefined
  readonly openapiPath: string | undefined
  /** Trusted CA certificates in PEM; `undefined`: the public CAs. */
  readonly ca: string | undefined
  /** The client certificate of the gateway; `undefined`: no client certificate. */
  readonly certificate: CertificateFiles | undefined
  /** How the gateway authenticates at the upstream; `undefined`: not at all. */
  readonly credentials: CredentialConfig | undefined
  /** The policy source that defines the upstream. undefined: the operator defines the upstream. */
  readonly policySource: string | undefined
}

/** Limits for the connections to an upstream, of all workers together. */
export type ConnectionLimits = {
  /** Maximum number of open connections of each target. Infinity: no limit. */
  readonly max: number
  /** Maximum number of requests that wait for a connection. */
  readonly maxPending: number
  readonly queueTimeoutMs: number
}

/** Returns the share of one worker. Each worker has at least one connection per target. */
export function shareOfWorker(limits: ConnectionLimits, workers: number): ConnectionLimits {
  const shareOf = (total: number): number => (total === 0 ? 0 : Math.max(1, Math.floor(total / workers)))
  return { ...limits, max: shareOf(limits.max), maxPending: shareOf(limits.maxPending) }
}

/** Creates an upstream. The upstream opens connections only when requests need connections. */
export function createUpstream(
  settings: UpstreamSettings,
  options: {
    readonly meter: UpstreamMeter
    readonly resolve: ResolveName
    readonly resolveSrv: ResolveSrv
    readonly access: UpstreamAccess
    readonly readsEarlyResponses: boolean
    /** Number of workers that share the limits. */
    readonly workers: number
    readonly tickMs: () => number
    readonly logger: Pick<Logger, 'info' | 'warn'>
  },
): Upstream {
  const { access, logger } = options

  function logEjection(target: string, isEjected: boolean, cause: EjectionCause): void {
    const { reason, probe } = cause
    const fields = { upstream: settings.name, target, reason, probe }
    if (isEjected)
      logger.warn(
        { event: 'target_ejected', ...fields },
        'a target of an upstream failed repeatedly: the gateway sends no requests to this target',
      )
    else logger.info({ event: 'target_back', ...fields }, 'a target of an upstream responds again')
  }

  const limits = shareOfWorker(settings.connections, options.workers)
  const queue = new RequestQueue({
    maxRequests: limits.maxPending,
    timeoutMs: limits.queueTimeoutMs,
    choose: () => targetSet.choose() ?? (targetSet.isAccepting ? 'full' : undefined),
  })
  const { healthCheck } = settings
  const basePath = basePathOf(settings.urls[0] ?? '')
  const targetSet = new TargetSet()
  const retiring = new Set<Target>()
  const open = (origin: string): Target =>
    new Target({
      origin,
      connectTimeoutMs: settings.connectTimeoutMs,
      ejection: settings.ejection,
      maxConnections: limits.max,
      resolve: settings.policySource === undefined ? options.resolve : guardAddresses(options.resolve),
      ca: settings.ca,
      certificate: access.certificate,
      readsEarlyResponses: options.readsEarlyResponses,
      tickMs: options.tickMs,
      healthCheck: healthCheck && { ...healthCheck, path: basePath + healthCheck.path },
      onProbed: (result) => options.meter.probed(origin, result),
      onEjected: (isEjected, cause) => logEjection(origin, isEjected, cause),
      onFree: () => queue.advance(),
    })

  /** Targets of earlier records finish their requests. */
  function useRecords(found: readonly SrvTarget[]): void {
    const known = new Map(targetSet.all.map((target) => [target.origin, target]))
    const groups = Map.groupBy(found, ({ priority }) => priority)
    targetSet.replace(
      [...groups.values()].map((group) => toGroup(group, (origin) => known.get(origin) ?? open(origin))),
    )
    const kept = new Set(targetSet.all)
    for (const target of known.values()) {
      if (kept.has(target)) continue
      options.meter.removed(target.origin)
      retiring.add(target)
      const forget = () => void retiring.delete(target)
      target.retire().then(forget, forget)
    }
    logger.info(
      { event: 'upstream_targets_changed', upstream: settings.name, targets: kept.size },
      'the targets of an upstream changed',
    )
    queue.advance()
  }

  const srv = settings.isSrv
    ? new SrvRecords({
        url: settings.urls[0] ?? '',
        resolve: options.resolveSrv,
        everyMs: RESOLVE_EVERY_MS,
        onLookup: (result) => options.meter.lookedUp(result),
        onChange: useRecords,
        onProblem: (error) => logLookups(logger, settings.name, error),
      })
    : undefined
  if (!settings.isSrv)
    targetSet.replace([
      { targets: settings.urls.map((url) => open(new URL(url).origin)), weights: settings.weights },
    ])
  return {
    name: settings.name,
    basePath,
    targets: targetSet,
    srv,
    queue,
    retryBudget: new RetryBudget(),
    meter: options.meter,
    timeoutMs: settings.timeoutMs,
    idleTimeoutMs: settings.idleTimeoutMs,
    openapiPath: settings.openapiPath,
    credential: access.credential,
    async retire() {
      queue.close()
      srv?.close()
      await Promise.all(targetSet.all.map((target) => target.retire()))
    },
    async close() {
      queue.close()
      srv?.close()
      await Promise.all([access.close(), ...[...targetSet.all, ...retiring].map((target) => target.close())])
    },
  }
}

/** With equal weights, the target with the fewest outstanding requests is next. */
function toGroup(records: readonly SrvTarget[], targetOf: (origin: string) => Target): TargetGroup {
  const weights = records.map(({ weight }) => weight)
  return {
    targets: records.map(({ origin }) => targetOf(origin)),
    weights: new Set(weights).size === 1 ? undefined : weights,
  }
}

function logLookups(logger: Pick<Logger, 'info' | 'warn'>, upstream: string, error: unknown): void {
  if (error === undefined)
    logger.info(
      { event: 'upstream_srv_back', upstream },
      'the SRV records of an upstream can be resolved again',
    )
  else
    logger.warn(
      { event: 'upstream_srv_failed', upstream, err: error },
      'the SRV records of an upstream cannot be resolved: the last targets stay in use',
    )
}

/** Number of requests that add one retry to the budget. */
const REQUESTS_PER_RETRY = 5
/** Maximum number of saved retries. This number is also the initial number. */
const SAVED_RETRIES = 10

/**
 * Limits retries, so that retries cannot overload an upstream. The gateway retries at most 20% of the requests. Saved
 * retries come in addition to this share.
 */
class RetryBudget {
  #balance = SAVED_RETRIES * REQUESTS_PER_RETRY

  earn(): void {
    if (this.#balance < SAVED_RETRIES * REQUESTS_PER_RETRY) this.#balance += 1
  }

  /**
   * Charges one retry, if the budget allows a retry.
   * @returns whether the request may be retried.
   */
  spend(): boolean {
    if (this.#balance < REQUESTS_PER_RETRY) return false
    this.#balance -= REQUESTS_PER_RETRY
    return true
  }
}
