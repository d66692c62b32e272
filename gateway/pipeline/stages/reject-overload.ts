import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import type { RequestContext } from '../request-context.ts'

/** The retry time is twice the time that the overload monitor needs to detect recovery. */
const OVERLOADED: Refusal = { refused: 'overloaded', retryAfterSeconds: 4 }

/**
 * Rejects requests during overload. One request at a time passes. Otherwise the gateway could reject every request
 * forever.
 * Reads only `services`. Sets nothing.
 * @returns the refusal `overloaded` (503).
 */
export function rejectOverload({ services }: RequestContext): Refusal | undefined {
  const reason = services.overload.refusing
  if (reason === undefined || services.tracker.inFlight <= 1) return undefined
  services.onOverloaded(reason)
  return OVERLOADED
}
