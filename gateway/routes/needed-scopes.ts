import type { ScopeRule } from './policy-route.ts'

const NONE: readonly string[] = []

/**
 * The scopes that a challenge advertises for a rule: all of `all`, and the first of `any`, which is enough of those.
 * In policy order, each once.
 */
export function neededScopes(rule: ScopeRule | undefined): readonly string[] {
  if (rule === undefined) return NONE
  const first = rule.any[0]
  return first === undefined || rule.all.includes(first) ? rule.all : [...rule.all, first]
}
