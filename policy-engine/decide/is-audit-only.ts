import type { EnforceRule } from '../load/policy-route.ts'
import type { Refusal } from './refusal.ts'

/**
 * Whether a refusal is only told of and the request served all the same: what the policy alone decides (nobody, a missing
 * scope, a condition), where it says `enforce: report`. A token that is no good is refused in any case.
 */
export function isAuditOnly({ refused }: Refusal, enforce: EnforceRule): boolean {
  return (
    enforce === 'report' &&
    (refused === 'token_missing' || refused === 'scope_missing' || refused === 'condition_failed')
  )
}
