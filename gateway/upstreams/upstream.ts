import type { CircuitRules, CircuitState } from '../../platform/circuit-breaker.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { ResolveName } from '../../platform/net/resolve-name.ts'
import type { UpstreamMeter } from '../observability/upstream-meter.ts'
import type { CertificateFiles } from '../server/tls/certificate-source.ts'
import { basePathOf } from './base-path-of.ts'
import type { UpstreamCredential } from './credentials/credential.ts'
import type { CredentialConfig, UpstreamAccess } from './credentials/open-access.ts'
import { guardAddresses } from './guard-addresses.ts'
import type { HealthCheckSettings } from './health-check.ts'
import { RequestQueue } from './request-queue.ts'
import { type EjectionCause, Target, type TargetHealth } from './target.ts'

export type Upstream = {
  /** The name that policies refer to. */
  readonly name: string
  /** Path prefix of every request; empty if the URLs have no path. */
  readonly basePath: string
  readonly targets: TargetSet
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
  /** One or more URLs, all with the same path. */
  readonly urls: readonly string[]
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
  const targets = settings.urls.map(
    (url) =>
      new Target({
        origin: new URL(url).origin,
        connectTimeoutMs: settings.connectTimeoutMs,
        ejection: settings.ejection,
        maxConnections: limits.max,
        resolve: settings.policySource === undefined ? options.resolve : guardAddresses(options.resolve),
        ca: settings.ca,
        certificate: access.certificate,
        readsEarlyResponses: options.readsEarlyResponses,
        tickMs: options.tickMs,
        healthCheck: healthCheck && { ...healthCheck, path: basePath + healthCheck.path },
        onProbed: (result) => options.meter.probed(new URL(url).origin, result),
        onEjected: (isEjected, cause) => logEjection(new URL(url).origin, isEjected, cause),
        onFree: () => queue.advance(),
      }),
  )
  const targetSet = new TargetSet(targets, settings.weights)
  return {
    name: settings.name,
    basePath,
    targets: targetSet,
    queue,
    retryBudget: new RetryBudget(),
    meter: options.meter,
    timeoutMs: settings.timeoutMs,
    idleTimeoutMs: settings.idleTimeoutMs,
    openapiPath: settings.openapiPath,
    credential: access.credential,
    async retire() {
      queue.close()
      await Promise.all(targets.map((target) => target.retire()))
    },
    async close() {
      queue.close()
      await Promise.all([access.close(), ...targets.map((target) => target.close())])
    },
  }
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

class TargetSet {
  readonly all: readonly Target[]
  readonly #weights: readonly number[] | undefined
  /** The credit of each target with a weight. The sum of all credits is 0. */
  readonly #credits: number[]
  #turn = 0

  constructor(targets: readonly Target[], weights: readonly number[] | undefined) {
    this.all = targets
    this.#weights = weights
    this.#credits = targets.map(() => 0)
  }

  /**
   * Chooses a target with a circuit that allows a request. Of these targets, chooses the target with the fewest
   * outstanding requests. Chooses equal targets in round-robin order. With weights, chooses by the weights only.
   * @param except the target that just failed. This target is the last choice.
   * @returns `undefined` if every circuit is open, or if all connections are busy.
   */
  choose(except?: Target): Target | undefined {
    if (this.#weights !== undefined) return this.#chooseByWeight(this.#weights, except)
    const { all } = this
    let best: Target | undefined
    const count = all.length
    if (except === undefined && count > 1) this.#turn = (this.#turn + 1) % count
    for (let i = 0; i < count; i++) {
      const target = all[(this.#turn + i) % count] as Target
      if (!target.isAccepting || (target.isFull && target !== except)) continue
      if (best === undefined || best === except) best = target
      else if (target !== except && target.outstanding < best.outstanding) best = target
    }
    return best
  }

  /**
   * Chooses the target with the highest credit after each target has received its weight. The chosen target pays the
   * sum of these weights. In a cycle of as many requests as the sum, each target therefore gets exactly its weight, in
   * an even order. A retry does not change the credits.
   */
  #chooseByWeight(weights: readonly number[], except: Target | undefined): Target | undefined {
    const credits = this.#credits
    let best = -1
    let bestCredit = 0
    let sum = 0
    for (const [index, target] of this.all.entries()) {
      if (target === except || !target.isAccepting || target.isFull) continue
      const weight = weights[index] as number
      const credit = (credits[index] as number) + weight
      sum += weight
      if (except === undefined) credits[index] = credit
      if (best !== -1 && credit <= bestCredit) continue
      best = index
      bestCredit = credit
    }
    if (best === -1) return except?.isAccepting === true ? except : undefined
    if (except === undefined) credits[best] = bestCredit - sum
    return this.all[best]
  }

  /** Whether the circuit of a target allows a request, even if all connections of the target are busy. */
  get isAccepting(): boolean {
    return this.all.some((target) => target.isAccepting)
  }

  /** States of the targets with a health check. */
  get health(): readonly TargetHealth[] {
    return this.all.flatMap((target) => target.health ?? [])
  }

  get openConnections(): number {
    return this.all.reduce((sum, target) => sum + target.openConnections, 0)
  }

  /** State of the healthiest target. */
  get state(): CircuitState {
    if (this.all.some((target) => target.state === 'closed')) return 'closed'
    return this.all.some((target) => target.state === 'half_open') ? 'half_open' : 'open'
  }
}
