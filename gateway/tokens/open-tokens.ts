import type { SecretFiles } from '../../platform/config/secret-files.ts'
import type { FailureLog } from '../../platform/logging/failure-log.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { SharedRedis } from '../../platform/redis/shared-redis.ts'
import type { Tracing } from '../../platform/tracing/tracing.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import { parseClientSecret } from '../config/read-secrets.ts'
import type { Metrics } from '../observability/metrics.ts'
import { type GatewayCheck, optionalGatewayCheck } from '../observability/readiness-check.ts'
import { TokenCache } from './cache/token-cache.ts'
import { createTokenValidator, type TokenValidator } from './cache/token-validator.ts'
import { type ClientSecret, followClientSecret } from './client-secret.ts'
import { type IssuerClient, type IssuerClientOptions, openIssuerClient } from './issuer-client.ts'
import type { Clock } from './jwt/issuer-keys.ts'
import { readCompactJwt } from './jwt/read-compact-jwt.ts'
import { createChannels, revocationChecks, sharedAgeMs, statusCapMs } from './revocation/open-revocations.ts'
import type { RevocationChannels } from './revocation/revocation-channels.ts'
import { isMarkedRevoked } from './revocation/revoked-tokens.ts'

/** Token validation of a gateway: its issuers, their revocation channels, and the token cache. */
export type Tokens = {
  readonly issuers: readonly IssuerClient[]
  /** The revocation channels. The channels open only after the listener of revocations exists. */
  readonly channels: RevocationChannels
  readonly cache: TokenCache
  readonly validator: TokenValidator
  readonly checks: () => readonly GatewayCheck[]
}

/** The clocks and timers of this process. The timers do not keep the process alive. */
export const SYSTEM_CLOCK: Clock = {
  tickMs: () => performance.now(),
  nowMs: Date.now,
  after(delayMs, call) {
    const timer = setTimeout(call, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

/** Opens all parts of token validation, except the revocation channels. The caller opens the channels later. */
export async function openTokens(
  config: Pick<GatewayConfig, 'issuers' | 'baseUrl' | 'dataDir' | 'redis' | 'revocationRedis' | 'tokenCache'>,
  parts: {
    readonly metrics: Metrics
    /** Undefined if no Redis is configured. */
    readonly redis: SharedRedis | undefined
    /** The Redis with the revocations, which can differ from `redis`. Undefined if no Redis is configured. */
    readonly revocationRedis: SharedRedis | undefined
    readonly secretFiles: Pick<SecretFiles, 'follow'>
    readonly tickMs: () => number
    /** Undefined: no spans. */
    readonly tracing: Tracing | undefined
    readonly logger: Logger
    readonly failures: FailureLog
  },
): Promise<Tokens> {
  const { metrics, redis, revocationRedis, tickMs } = parts
  const { tokenCache } = config
  const followedSecrets = followClientSecrets(config.issuers, parts.secretFiles)
  const channels = createChannels(config, { ...parts, followedSecrets })
  const cache = new TokenCache({
    ...tokenCache,
    capMs: (issuer) => statusCapMs(tokenCache, channels, issuer),
  })
  const shared = sharedLevel(tokenCache, {
    redis,
    revocationRedis,
    maxAgeMs: (issuer, sinceGapMs) => sharedAgeMs(tokenCache, channels, { issuer, sinceGapMs }),
  })
  const { completeUntilMs } = channels
  const issuers = await openIssuers(config, { ...parts, followedSecrets, shared, completeUntilMs })
  return {
    issuers,
    channels,
    cache,
    validator: createTokenValidator({
      issuers,
      cache,
      nowMs: Date.now,
      tickMs,
      after: SYSTEM_CLOCK.after,
      observe: metrics.tokens,
    }),
    checks: () => [...issuerChecks(issuers), ...revocationChecks(channels)],
  }
}

/**
 * Returns the time for which the gateway may use an earlier status of a token. 0 for a JWT that the gateway verifies,
 * because `jwt.maxRevocationDelay` applies to such a JWT instead. Milliseconds.
 */
export function staleIfErrorOf(
  { issuers }: Pick<GatewayConfig, 'issuers'>,
  token: string,
  issuer: string,
): number {
  const config = issuers.find((one) => one.issuer === issuer)
  if (config === undefined || (config.jwt !== undefined && readCompactJwt(token) !== 'opaque')) return 0
  return config.staleIfErrorMs
}

/** Returns the client secrets from files, by issuer. A secret changes when its file changes. */
function followClientSecrets(
  issuers: GatewayConfig['issuers'],
  files: Pick<SecretFiles, 'follow'>,
): ReadonlyMap<string, ClientSecret> {
  return new Map(
    issuers.flatMap(({ issuer, introspection }, index) => {
      if (introspection?.clientSecretFile === undefined) return []
      const { clientSecretFile: file, clientSecret: secret } = introspection
      const setting = `issuers[${index}].introspection.clientSecretFile`
      const parse = (text: string): string => parseClientSecret(text, { file, index })
      return [[issuer, followClientSecret({ file, setting, secret, parse, files })] as const]
    }),
  )
}

/** Opens all issuers in parallel, so that an unavailable issuer does not delay other issuers. */
function openIssuers(
  { issuers, baseUrl, dataDir }: Pick<GatewayConfig, 'issuers' | 'baseUrl' | 'dataDir'>,
  parts: {
    readonly metrics: Metrics
    readonly followedSecrets: ReadonlyMap<string, ClientSecret>
    readonly shared: IssuerClientOptions['shared']
    readonly completeUntilMs: IssuerClientOptions['completeUntilMs']
    readonly tracing: Tracing | undefined
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
        clock: SYSTEM_CLOCK,
        random: Math.random,
        ...parts,
        followedSecret: parts.followedSecrets.get(config.issuer),
        meter: parts.metrics.issuer(config.issuer),
      }),
    ),
  )
}

/**
 * Returns the checks of the issuers: keys, introspection, and the use of earlier statuses. If the keys of an issuer
 * were never fetched, the gateway is not ready. Every other problem only degrades the gateway.
 */
function issuerChecks(issuers: readonly IssuerClient[]): readonly GatewayCheck[] {
  return issuers.flatMap(({ issuer, keys, ready, introspector, stale }) => [
    ...(keys === undefined
      ? []
      : [
          ready
            ? optionalGatewayCheck('issuer_keys', `keys of ${issuer}`, keys.unavailableReason)
            : neverFetched(issuer),
        ]),
    ...(introspector === undefined
      ? []
      : [
          optionalGatewayCheck('introspection', `introspection at ${issuer}`, introspector.unavailableReason),
        ]),
    ...(stale?.isActive === true
      ? [optionalGatewayCheck('token_status', `token status of ${issuer}`, STALE)]
      : []),
  ])
}

const STALE = 'stale: the gateway accepts known tokens by their last check, for at most staleIfError'

function neverFetched(issuer: string): GatewayCheck {
  return { kind: 'issuer_keys', name: `keys of ${issuer}`, ok: false, detail: 'never fetched' }
}

/**
 * Returns the token cache level that gateways share. Undefined without Redis, or if the configuration disables this
 * level.
 */
function sharedLevel(
  tokenCache: GatewayConfig['tokenCache'],
  parts: {
    readonly redis: SharedRedis | undefined
    readonly revocationRedis: SharedRedis | undefined
    readonly maxAgeMs: (issuer: string, sinceGapMs: number) => number
  },
): IssuerClientOptions['shared'] {
  const { redis, revocationRedis, maxAgeMs } = parts
  if (redis === undefined || revocationRedis === undefined || !tokenCache.shared) return undefined
  return {
    redis,
    isRevoked:
      revocationRedis === redis
        ? (caller) => isMarkedRevoked(redis.redis, caller)
        : (caller) => isMarkedElsewhere(revocationRedis, caller),
    maxTtlMs: tokenCache.maxTtlMs,
    maxAgeMs,
  }
}

/**
 * Returns whether a Redis other than the Redis of the shared token cache holds a revocation mark of the token. Failures
 * of this Redis open a separate circuit.
 * @throws by rejection, when this Redis is unavailable: the gateway then introspects the token.
 */
async function isMarkedElsewhere(revocationRedis: SharedRedis, caller: Caller): Promise<boolean> {
  if (revocationRedis.unavailableReason() !== undefined) throw new Error('revocationRedis is unavailable')
  try {
    const isRevoked = await isMarkedRevoked(revocationRedis.redis, caller)
    revocationRedis.succeeded()
    return isRevoked
  } catch (error) {
    revocationRedis.failed()
    throw error
  }
}
