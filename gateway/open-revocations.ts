import type { Revocation } from '../oauth/revocation.ts'
import type { FailureLog } from '../platform/logging/failure-log.ts'
import type { Logger } from '../platform/logging/logger.ts'
import type { ReadinessCheck } from '../platform/ops/ops-server.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import type { Metrics } from './observability/metrics.ts'
import { toCheck } from './open-issuers.ts'
import type { TokenValidator } from './tokens/cache/token-validator.ts'
import { openRevocationChannels, type RevocationChannels } from './tokens/revocation/revocation-channels.ts'
import type { WebsocketSessions } from './upstreams/websocket/sessions.ts'

/** What is known of tokens, and what was opened with them. */
type Known = {
  readonly verdicts: TokenValidator
  readonly sessions: WebsocketSessions
  readonly metrics: Metrics
}

/** Makes what lets go of everything that revocations are about: verdicts and open sessions. */
export function revoker({ verdicts, sessions, metrics }: Known) {
  return (revocations: readonly Revocation[], issuer?: string): void => {
    metrics.revocations(revocations.length)
    for (const revocation of revocations) verdicts.revoke(revocation, issuer)
    sessions.revoke(verdicts.isRevoked)
  }
}

/**
 * Listens for revocations of every issuer, and lets go of what they are about: verdicts and open sessions.
 * @throws {BootError} when Redis refuses the credentials.
 */
export function openRevocations(
  config: Pick<GatewayConfig, 'issuers' | 'redis'>,
  parts: Known & { readonly logger: Logger; readonly failures: FailureLog },
): Promise<RevocationChannels> {
  const { verdicts, sessions, metrics, logger, failures } = parts
  return openRevocationChannels({
    issuers: config.issuers.map(({ issuer, introspection, revocations, ca }) => ({
      issuer,
      stream:
        introspection === undefined || revocations === undefined
          ? undefined
          : { ...introspection, url: revocations, ca },
    })),
    redis: config.redis,
    onRevoked: revoker(parts),
    onMissed() {
      metrics.revocationsMissed()
      verdicts.clear()
      sessions.recheck()
    },
    logger,
    failures,
    random: Math.random,
    tickMs: () => performance.now(),
    nowSeconds: () => Date.now() / 1_000,
  })
}

/** Returns whether the revocations of each issuer arrive. Issuers that publish none have no check. */
export function revocationChecks(
  issuers: GatewayConfig['issuers'],
  channels: RevocationChannels | undefined,
): readonly ReadinessCheck[] {
  return issuers
    .filter(({ issuer }) => channels?.expects(issuer) === true)
    .map(({ issuer }) =>
      toCheck(`revocations of ${issuer}`, channels?.hears(issuer) === true ? undefined : NOT_ARRIVING),
    )
}

const NOT_ARRIVING = 'they do not arrive: revoked tokens are accepted until their cache entry expires'

/**
 * Of `tokenCache.ttlWithoutPush`, which is when a revoked token is refused at the latest: the rest is for the question to the
 * issuer that has to be put then, and its answer.
 */
const SHARE_FOR_VERDICTS = 0.9

/** How long a verdict of an issuer may be used: less while revocations should arrive and do not. Milliseconds. */
export function verdictCapMs(
  { maxTtlMs, ttlWithoutPushMs }: GatewayConfig['tokenCache'],
  channels: RevocationChannels | undefined,
  issuer: string,
): number {
  if (channels === undefined || !channels.expects(issuer) || channels.hears(issuer)) return maxTtlMs
  return Math.min(maxTtlMs, ttlWithoutPushMs * SHARE_FOR_VERDICTS)
}

/**
 * How old an answer may be that is taken over from another gateway. Where revocations are marked in Redis, the mark is looked
 * at each time; where they are not, an answer from before this process had to forget everything may be about a token that
 * was revoked since. Milliseconds.
 */
export function sharedAgeMs(
  tokenCache: GatewayConfig['tokenCache'],
  channels: RevocationChannels | undefined,
  { issuer, sinceClearMs }: { readonly issuer: string; readonly sinceClearMs: number },
): number {
  if (channels === undefined) return 0 // it does not listen yet
  const capMs = verdictCapMs(tokenCache, channels, issuer)
  return !channels.expects(issuer) || channels.marks(issuer) ? capMs : Math.min(capMs, sinceClearMs)
}
