import type { EnforceRule } from '../load/policy-route.ts'
import type { Refusal } from './refusal.ts'

/**
 * Returns whether a refusal is logged but not applied, because the policy has `enforce: report`.
 * This is possible for a missing token, a missing scope and a failed condition. An invalid token is always rejected.
 */
export function isAuditOnly({ refused }: Refusal, enforce: EnforceRule): boolean {
  return (
    enforce === 'report' &&
    (refused === 'token_missing' || refused === 'scope_missing' || refused === 'condition_failed')
  )
}
