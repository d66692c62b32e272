import { NO_IMPLICATION, type ScopeImplication } from '../../oauth/scope-implication.ts'
import type { ScopeRule } from '../load/policy-route.ts'

const NONE: readonly string[] = []

/**
 * The scopes that a challenge advertises for a rule: all of `all`, and of `any` the one that is named for that, or the first.
 * What comes with another one of them is left out. In policy order, each once.
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
  const isMet = rule.any.some((scope) => all.includes(scope) || isGivenBy(scope, all))
  return advertised === undefined || isMet ? all : [...all, advertised]
}
