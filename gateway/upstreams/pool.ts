import type { CircuitRules } from '../../platform/circuit-breaker.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { UpstreamMeter } from '../observability/upstream-meter.ts'
import { basePathOf } from './base-path-of.ts'
import type { ResolveName } from './name-addresses.ts'
import { RetryBudget } from './retry-budget.ts'
import { Target } from './target.ts'
import { TargetSet } from './target-set.ts'

export type Upstream = {
  /** The name that policies refer to. */
  readonly name: string
  /** Path prefix of every request; empty if the URLs have none. */
  readonly basePath: string
  readonly targets: TargetSet
  readonly retryBudget: RetryBudget
  readonly meter: UpstreamMeter
  /** Default for the time from the request to the first byte of the response. Routes may override it. Milliseconds. */
  readonly timeoutMs: number
  /** Default for the longest stall inside a response, on either side. Routes may override it. Milliseconds. */
  readonly idleTimeoutMs: number
  readonly openapiPath: string | undefined
  close(): Promise<void>
}

/**
 * An upstream from config/upstreams.yaml.
 * - `timeoutMs`: default time to the first byte of a response
 * - `connectTimeoutMs`: connection setup, including TLS
 * - `idleTimeoutMs`: default for the longest stall inside a response
 */
export type UpstreamSettings = {
  readonly name: string
  /** One or more URLs, all with the same path. */
  readonly urls: readonly string[]
  readonly timeoutMs: number
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly ejection: CircuitRules
  readonly openapiPath: string | undefined
  /** Trusted CA certificates in PEM; `undefined`: the public CAs. */
  readonly ca: string | undefined
}

/** Creates an upstream. Connections are opened by requests. */
export function createUpstream(
  settings: UpstreamSettings,
  options: {
    readonly meter: UpstreamMeter
    readonly resolve: ResolveName
    readonly tickMs: () => number
    readonly logger: Pick<Logger, 'info' | 'warn'>
  },
): Upstream {
  const { logger } = options

  function logEjection(target: string, isEjected: boolean): void {
    const place = { upstream: settings.name, target }
    if (isEjected)
      logger.warn({ event: 'target_ejected', ...place }, 'a target of an upstream does not respond')
    else logger.info({ event: 'target_back', ...place }, 'a target of an upstream responds again')
  }

  const targets = settings.urls.map(
    (url) =>
      new Target({
        origin: new URL(url).origin,
        connectTimeoutMs: settings.connectTimeoutMs,
        ejection: settings.ejection,
        resolve: options.resolve,
        ca: settings.ca,
        tickMs: options.tickMs,
        onEjected: (isEjected) => logEjection(new URL(url).origin, isEjected),
      }),
  )
  return {
    name: settings.name,
    basePath: basePathOf(settings.urls[0] ?? ''),
    targets: new TargetSet(targets),
    retryBudget: new RetryBudget(),
    meter: options.meter,
    timeoutMs: settings.timeoutMs,
    idleTimeoutMs: settings.idleTimeoutMs,
    openapiPath: settings.openapiPath,
    async close() {
      await Promise.all(targets.map((target) => target.close()))
    },
  }
}
