import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type AccessRequest,
  type AccessRule,
  checkAccess,
} from '../../../policy-engine/decide/check-access.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'

/**
 * Stage 5: decides whether the route allows the caller.
 * Reads `resource`, `possessionProof`, `caller`, the time in seconds, the values for conditions, and the access rule of
 * the route.
 * @returns undefined to allow; otherwise `token_missing`, `token_invalid`, `scope_missing` or `condition_failed`.
 */
export function decide(
  request: AccessRequest,
  caller: Caller | undefined,
  rule: AccessRule,
): Refusal | undefined {
  return checkAccess(request, caller, rule)
}
