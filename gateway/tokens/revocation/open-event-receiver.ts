import type { Revocation } from '../../../oauth/revocation.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { relayRevocation } from '../../../platform/redis/publish-revocation.ts'
import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import type { GatewayConfig } from '../../config/gateway-config.ts'
import type { IssuerClient } from '../issuer-client.ts'
import { createEventReceiver, type ReceiveSecurityEvent } from './event-receiver.ts'

/**
 * Opens the receiver of Security Event Tokens for the issuers that may send them; returns undefined when no issuer may.
 */
export function openEventReceiver(
  config: Pick<GatewayConfig, 'issuers'>,
  parts: {
    readonly issuers: readonly IssuerClient[]
    readonly revoke: (revocations: readonly Revocation[]) => void
    /** undefined: revocations stay in this process. */
    readonly shared: SharedRedis | undefined
    readonly logger: Logger
    readonly failures: FailureLog
  },
): ReceiveSecurityEvent | undefined {
  const { shared } = parts
  const issuers = config.issuers.flatMap(({ issuer, jwt, securityEvents }) => {
    const keys = parts.issuers.find((one) => one.issuer === issuer)?.keys
    if (securityEvents === undefined || jwt === undefined || keys === undefined) return []
    return [{ ...jwt, ...securityEvents, issuer, keys, algorithms: new Set(jwt.algorithms) }]
  })
  if (issuers.length === 0) return undefined
  const nowSeconds = (): number => Date.now() / 1_000
  return createEventReceiver({
    ...parts,
    issuers,
    nowSeconds,
    tell: async (revocation) => {
      if (shared !== undefined) await relayRevocation(shared.redis, revocation, nowSeconds())
    },
  })
}
