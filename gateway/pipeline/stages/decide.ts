import { decideAccess } from '../../../policy-engine/decide/check-access.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { ALLOWED, ALLOWED_ANONYMOUS } from '../../observability/decision.ts'
import type { MatchedContext } from '../request-context.ts'

/**
 * Decides whether the route of a policy allows the caller.
 * Reads `route`, `caller`, `resource`, `possessionProof`, `params` and `canonical`. Sets `decision` and
 * `auditOnlyDenial`.
 * @returns the rejection `token_missing`, `token_invalid` or `authentication_insufficient` (401), or `scope_missing`
 * or `condition_failed` (403).
 */
export function decide(context: MatchedContext): Rejection | undefined {
  const { route, caller, services } = context
  if (route.kind !== 'api') return undefined
  const denial = decideAccess(context, caller, route, services.nowMs() / 1_000)
  if (denial !== undefined) {
    if (!denial.isAuditOnly) return denial.rejection
    context.auditOnlyDenial = denial.rejection
  }
  context.decision = caller === undefined ? ALLOWED_ANONYMOUS : ALLOWED
  return undefined
}
