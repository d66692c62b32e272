import { NO_IMPLICATION, type ScopeImplication } from '../../oauth/scope-implication.ts'
import type { ScopeRule } from '../load/policy-route.ts'

const NONE: readonly string[] = []

/**
 * Returns the scopes that a challenge advertises, in policy order and without duplicates.
 * These are all scopes of `all`, and `advertise` or else the first scope of `any`.
 * Omits scopes that another advertised scope implies.
 */
export function neededScopes(
  rule: ScopeRule | undefined,
  implication: ScopeImplication = NO_IMPLICATION,
): readonly string[] {
  if (rule === undefined) return NONE
  const isGivenBy = (scope: string, others: readonly string[]) =>
    others.some((other) => other !== scope && implication.get(scope)?.includes(other) === true)
  const all = rule.all.filter((scope) => !isGivenBy(scope, rule.all))
  const advertised = rule.advertise ?? rule.any[0]
  const isSatisfied = rule.any.some((scope) => all.includes(scope) || isGivenBy(scope, all))
  return advertised === undefined || isSatisfied ? all : [...all, advertised]
}
