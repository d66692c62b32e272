import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import type { RequestContext } from '../request-context.ts'

/** The retry time is twice the time that the overload monitor needs to detect recovery. */
const OVERLOADED: Rejection = { rejected: 'overloaded', retryAfterSeconds: 4 }

/**
 * Rejects requests during overload. A request passes if no other request is in flight. Otherwise the gateway could
 * reject every request forever.
 * Reads only `services`. Sets nothing.
 * @returns the rejection `overloaded` (503).
 */
export function rejectOverload({ services }: RequestContext): Rejection | undefined {
  const reason = services.overload.rejecting
  if (reason === undefined || services.tracker.inFlight <= 1) return undefined
  services.onOverloaded(reason)
  return OVERLOADED
}
