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

/** Opens every issuer, all at once: none waits for another one that is away. */
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
 * Returns whether the tokens of each issuer can be validated. Only an issuer whose keys were never fetched makes the gateway
 * not ready: everything else that the gateway serves goes on.
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

/** Returns the check of a part that the gateway stays ready without. `trouble` is what is wrong with it. */
export function toCheck(name: string, trouble: string | undefined): ReadinessCheck {
  return trouble === undefined ? { name, ok: true } : { name, ok: true, degraded: true, detail: trouble }
}

/** What gateways know together about tokens: nothing without Redis, or when the configuration says so. */
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
