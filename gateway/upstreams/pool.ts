import type { Logger } from '../../platform/logging/logger.ts'
import type { UpstreamMeter } from '../observability/upstream-meter.ts'
import { basePathOf } from './base-path-of.ts'
import type { CircuitRules } from './circuit.ts'
import type { ResolveName } from './name-addresses.ts'
import { RetryBudget } from './retry-budget.ts'
import { Target } from './target.ts'
import { TargetSet } from './target-set.ts'

/** One service behind the gateway. */
export type Upstream = {
  /** As policies name it. */
  readonly name: string
  /** Stands before every path; empty when the addresses have none. */
  readonly basePath: string
  readonly targets: TargetSet
  readonly retryBudget: RetryBudget
  readonly meter: UpstreamMeter
  /** From the request to the first byte of the answer, where no route says otherwise. Milliseconds. */
  readonly timeoutMs: number
  /** Longest silence inside an answer, of either side, where no route says otherwise. Milliseconds. */
  readonly idleTimeoutMs: number
  /** Where it describes itself, if it does. */
  readonly openapiPath: string | undefined
  /** Ends every connection. */
  close(): Promise<void>
}

/**
 * An upstream as config/upstreams.yaml describes it. Times are for routes that set none: to the first byte of an
 * answer, to connect (TLS included), and of silence inside an answer.
 */
export type UpstreamSettings = {
  readonly name: string
  /** One or more, all with the same path. */
  readonly urls: readonly string[]
  readonly timeoutMs: number
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly ejection: CircuitRules
  readonly openapiPath: string | undefined
  /** Certificates of the authorities that vouch for it, in PEM; undefined: the public ones. */
  readonly ca: string | undefined
}

/** Opens no connection yet; requests do. */
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
