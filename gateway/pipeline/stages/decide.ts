import type { Caller } from '../../../policy-engine/decide/caller.ts'
import {
  type AccessRequest,
  type AccessRule,
  checkAccess,
} from '../../../policy-engine/decide/check-access.ts'
import type { Refusal } from '../../../policy-engine/decide/refusal.ts'

/**
 * Stage 5: may this caller do this?
 * @returns undefined to allow; else `token_missing`, `token_invalid`, `scope_missing` or `condition_failed`.
 */
export function decide(
  request: AccessRequest,
  caller: Caller | undefined,
  rule: AccessRule,
): Refusal | undefined {
  return checkAccess(request, caller, rule)
}
