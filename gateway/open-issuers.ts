import type { FailureLog } from '../platform/logging/failure-log.ts'
import type { Logger } from '../platform/logging/logger.ts'
import type { ReadinessCheck } from '../platform/ops/ops-server.ts'
import type { SharedRedis } from '../platform/redis/shared-redis.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import type { Metrics } from './observability/metrics.ts'
import { type IssuerClient, type IssuerClientOptions, openIssuerClient } from './tokens/issuer-client.ts'
import type { Clock } from './tokens/jwt/issuer-keys.ts'
import { isMarkedRevoked } from './tokens/revocation/revocation-marks.ts'

const CLOCK: Clock = {
  tickMs: () => performance.now(),
  nowMs: Date.now,
  after(delayMs, call) {
    const timer = setTimeout(call, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

/** Opens all issuers in parallel, so that an unavailable one does not delay the others. */
export function openIssuers(
  { issuers, baseUrl, dataDir }: Pick<GatewayConfig, 'issuers' | 'baseUrl' | 'dataDir'>,
  parts: {
    readonly metrics: Metrics
    readonly shared: IssuerClientOptions['shared']
    readonly logger: Logger
    readonly failures: FailureLog
  },
): Promise<readonly IssuerClient[]> {
  return Promise.all(
    issuers.map((config) =>
      openIssuerClient({
        config,
        baseUrl,
        dataDir,
        clock: CLOCK,
        random: Math.random,
        ...parts,
        meter: parts.metrics.issuer(config.issuer),
      }),
    ),
  )
}

/**
 * Returns whether the tokens of each issuer can be validated. An issuer whose keys were never fetched makes the gateway
 * not ready. Every other problem only degrades it.
 */
export function issuerChecks(issuers: readonly IssuerClient[]): readonly ReadinessCheck[] {
  return issuers.flatMap(({ issuer, keys, ready, introspector }) => [
    ...(keys === undefined
      ? []
      : [ready ? toCheck(`keys of ${issuer}`, keys.trouble) : neverFetched(issuer)]),
    ...(introspector === undefined ? [] : [toCheck(`introspection at ${issuer}`, introspector.trouble)]),
  ])
}

function neverFetched(issuer: string): ReadinessCheck {
  return { name: `keys of ${issuer}`, ok: false, detail: 'never fetched' }
}

/**
 * Returns the check of an optional component: trouble makes the gateway degraded, never not ready.
 * @param trouble description of the problem; undefined: no problem.
 */
export function toCheck(name: string, trouble: string | undefined): ReadinessCheck {
  return trouble === undefined ? { name, ok: true } : { name, ok: true, degraded: true, detail: trouble }
}

/** Returns the token cache level that gateways share; undefined without Redis, or if the configuration disables it. */
export function sharedLevel(
  tokenCache: GatewayConfig['tokenCache'],
  parts: {
    readonly redis: SharedRedis | undefined
    readonly maxAgeMs: (issuer: string, sinceClearMs: number) => number
  },
): IssuerClientOptions['shared'] {
  const { redis, maxAgeMs } = parts
  if (redis === undefined || !tokenCache.shared) return undefined
  return {
    redis,
    isRevoked: (caller) => isMarkedRevoked(redis.redis, caller),
    maxTtlMs: tokenCache.maxTtlMs,
    maxAgeMs,
  }
}
