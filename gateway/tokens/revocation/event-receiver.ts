import type { Revocation } from '../../../oauth/revocation.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { relayRevocation } from '../../../platform/redis/publish-revocation.ts'
import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import type { GatewayConfig } from '../../config/gateway-config.ts'
import type { IssuerClient } from '../issuer-client.ts'
import { toRevocations } from './to-revocations.ts'
import { type EventFault, type EventIssuer, verifySecurityEvent } from './verify-security-event.ts'

/**
 * Outcome of an event. `taken` means that the event applies to every gateway. `EventFault` is the reason of a
 * rejection. With `try_again`, the issuer should send the event again.
 */
export type EventOutcome = 'taken' | EventFault | 'try_again'

const NOT_STORED = {
  event: 'security_event_not_taken',
  message: 'a security event cannot be processed now: the issuer must send the event again',
}

/** The request that contained a Security Event Token, for the log. */
export type EventOrigin = { readonly requestId: string; readonly clientAddress: string }

/** Processes a Security Event Token. Never rejects, for any text. */
export type ReceiveSecurityEvent = (text: string, origin: EventOrigin) => Promise<EventOutcome>

/**
 * Creates a receiver of Security Event Tokens. An event is taken when its revocations apply in this process. With a
 * shared Redis, the revocations must also be written to Redis for the other gateways. If the write fails, the receiver
 * asks the issuer to send the event again. A repeated event does no harm.
 * @param options.publish rejects when a revocation cannot be written for the other gateways.
 */
export function createEventReceiver(options: {
  readonly issuers: readonly EventIssuer[]
  readonly revoke: (revocations: readonly Revocation[]) => void
  readonly publish: (revocation: Revocation & { readonly issuer: string }) => Promise<void>
  readonly nowSeconds: () => number
  readonly logger: Logger
  readonly failures: FailureLog
}): ReceiveSecurityEvent {
  const { logger } = options
  const issuers = new Map(options.issuers.map((one) => [one.issuer, one]))

  return async (text, origin) => {
    const { requestId, clientAddress } = origin
    try {
      const event = await verifySecurityEvent(text, issuers, options.nowSeconds())
      if ('err' in event) return rejected(event, origin)
      const { issuer, id } = event
      const meaning = toRevocations(event)
      if (meaning === undefined)
        return rejected({ err: 'invalid_request', description: 'An event has no subject.' }, origin, issuer)
      const { revocations, ignored } = meaning
      if (revocations.length > 0) options.revoke(revocations)
      for (const revocation of revocations) await options.publish(revocation)
      const about = {
        request_id: requestId,
        'client.address': clientAddress,
        issuer,
        jti: id,
        revocations: revocations.length,
      }
      if (ignored.length === 0)
        logger.info({ event: 'security_event_taken', ...about }, 'an issuer revoked tokens')
      else
        logger.warn(
          { event: 'security_event_ignored', ...about, types: ignored },
          'the gateway ignores event types that do not revoke tokens',
        )
      return 'taken'
    } catch (error) {
      // The issuer's keys or Redis are unavailable. The transmitter did not cause this error.
      options.failures.failed(NOT_STORED, error, requestId)
      return 'try_again'
    }
  }

  function rejected(
    fault: EventFault,
    { requestId, clientAddress }: EventOrigin,
    issuer?: string,
  ): EventFault {
    logger.warn(
      {
        event: 'security_event_refused',
        request_id: requestId,
        'client.address': clientAddress,
        issuer,
        reason: fault.err,
      },
      fault.description,
    )
    return fault
  }
}

/** Opens the receiver of Security Event Tokens. Returns undefined if no issuer may send Security Event Tokens. */
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
    publish: async (revocation) => {
      if (shared !== undefined) await relayRevocation(shared.redis, revocation, nowSeconds())
    },
  })
}
