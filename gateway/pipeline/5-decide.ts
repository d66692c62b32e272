import type { Caller } from '../identity/caller.ts'
import type { Refusal } from '../refusal.ts'
import { type AccessRequest, type AccessRule, checkAccess } from '../routes/check-access.ts'

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
