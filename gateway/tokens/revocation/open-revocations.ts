import type { Revocation } from '../../../oauth/revocation.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import type { GatewayConfig } from '../../config/gateway-config.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { type GatewayCheck, optionalGatewayCheck } from '../../observability/readiness-check.ts'
import type { WebsocketSessions } from '../../upstreams/websocket/sessions.ts'
import type { TokenValidator } from '../cache/token-validator.ts'
import type { ClientSecret } from '../client-secret.ts'
import type { Issuer } from '../issuer.ts'
import {
  createRevocationChannels,
  type RevocationChannels,
  type RevocationListener,
} from './revocation-channels.ts'

type RevocationState = Pick<RevocationChannels, 'isConfigured' | 'isConnected' | 'marks'>

/** The holders of token state that a revocation affects. */
type TokenState = {
  readonly tokenValidator: TokenValidator
  readonly sessions: WebsocketSessions
  readonly metrics: Metrics
}

/** Creates a function that applies revocations to cached token status and open WebSocket sessions. */
export function createRevoke({ tokenValidator, sessions, metrics }: TokenState) {
  return (revocations: readonly Revocation[], issuer?: string): void => {
    metrics.revocations(revocations.length)
    for (const revocation of revocations) tokenValidator.revoke(revocation, issuer)
    sessions.revoke(tokenValidator.isRevoked)
  }
}

export function createChannels(
  config: Pick<GatewayConfig, 'issuers' | 'redis' | 'revocationRedis'>,
  parts: {
    readonly followedSecrets: ReadonlyMap<string, ClientSecret>
    readonly logger: Logger
    readonly failures: FailureLog
  },
): RevocationChannels {
  return createRevocationChannels({
    ...parts,
    issuers: config.issuers.map(({ issuer, introspection, revocations, ca }) => ({
      issuer,
      stream:
        introspection === undefined || revocations === undefined
          ? undefined
          : { ...introspection, followedSecret: parts.followedSecrets.get(issuer), url: revocations, ca },
    })),
    redis:
      config.revocationRedis === undefined
        ? config.redis
        : { ...config.revocationRedis, setting: 'revocationRedis' },
    random: Math.random,
    tickMs: () => performance.now(),
    nowSeconds: () => Date.now() / 1_000,
  })
}

/** Creates the listener that applies revocations and gaps to cached token status and open WebSocket sessions. */
export function revocationListener(state: TokenState): RevocationListener {
  const { tokenValidator, sessions, metrics } = state
  return {
    onRevoked: createRevoke(state),
    onGap() {
      metrics.revocationGap()
      tokenValidator.expire()
      sessions.recheck()
    },
  }
}

/**
 * Returns whether each revocation of the caller's token arrives immediately. After a revocation gap, an open channel
 * does not deliver the missed revocations. A JWT in the gap then needs introspection when `jwt.maxRevocationDelay` has
 * passed, because its signature shows no revocation.
 */
export function isPushed(
  caller: Caller,
  channels: Pick<RevocationChannels, 'isConnected'>,
  issuers: readonly Pick<Issuer, 'issuer' | 'usableMs'>[],
): boolean {
  if (!channels.isConnected(caller.issuer)) return false
  const usableMs = issuers.find(({ issuer }) => issuer === caller.issuer)?.usableMs?.(caller)
  return usableMs === undefined || usableMs > 0
}

/**
 * Returns one readiness check per issuer with a revocation channel. The check reports a problem while the channel is
 * not connected.
 */
export function revocationChecks(channels: Pick<RevocationChannels, 'states'>): readonly GatewayCheck[] {
  return channels
    .states()
    .map(({ issuer, isConnected }) =>
      optionalGatewayCheck(
        'revocation_stream',
        `revocations of ${issuer}`,
        isConnected ? undefined : NOT_ARRIVING,
      ),
    )
}

const NOT_ARRIVING = 'not connected: revoked tokens are accepted until their cache entry expires'

/**
 * Share of `tokenCache.ttlWithoutPush` for cache entries. A revoked token must be rejected within `ttlWithoutPush`. The
 * rest of this time is for the next introspection request and its response.
 */
const SHARE_FOR_CACHE = 0.9

/**
 * Returns how long the token status of an issuer may be cached. The time is shorter while the revocation stream of the
 * issuer is down. Milliseconds.
 */
export function statusCapMs(
  { maxTtlMs, ttlWithoutPushMs }: GatewayConfig['tokenCache'],
  channels: RevocationState,
  issuer: string,
): number {
  if (!channels.isConfigured(issuer) || channels.isConnected(issuer)) return maxTtlMs
  return Math.min(maxTtlMs, ttlWithoutPushMs * SHARE_FOR_CACHE)
}

/**
 * Returns the maximum age of a token status from another gateway. If Redis holds revocation marks, each use of the
 * status checks the mark. Without marks, the status must be newer than the last revocation gap. A token with an older
 * status may have been revoked during the gap. Milliseconds.
 */
export function sharedAgeMs(
  tokenCache: GatewayConfig['tokenCache'],
  channels: RevocationState,
  { issuer, sinceGapMs }: { readonly issuer: string; readonly sinceGapMs: number },
): number {
  const capMs = statusCapMs(tokenCache, channels, issuer)
  return !channels.isConfigured(issuer) || channels.marks(issuer) ? capMs : Math.min(capMs, sinceGapMs)
}
