import type { Revocation } from '../oauth/revocation.ts'
import type { FailureLog } from '../runtime/failure-log.ts'
import type { Logger } from '../runtime/logger.ts'
import { relayRevocation } from '../runtime/publish-revocation.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import { createEventReceiver, type ReceiveEvent } from './identity/events/event-receiver.ts'
import type { OpenIssuer } from './identity/open-issuer.ts'
import type { SharedRedis } from './redis/shared-redis.ts'

/** Opens what takes Security Event Tokens of the issuers that may send some; undefined when none may. */
export function openEventReceiver(
  config: Pick<GatewayConfig, 'issuers'>,
  parts: {
    readonly issuers: readonly OpenIssuer[]
    readonly revoke: (revocations: readonly Revocation[]) => void
    /** undefined: this process is told for itself. */
    readonly shared: SharedRedis | undefined
    readonly logger: Logger
    readonly failures: FailureLog
  },
): ReceiveEvent | undefined {
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
