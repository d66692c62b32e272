import type { ScopeCheck } from '../../../policy-engine/decide/scope-check.ts'

/** Direction of a change in a set of callers. Both are true when some callers gain access and others lose it. */
export type Shift = { readonly gains: boolean; readonly loses: boolean }

export const SAME: Shift = { gains: false, loses: false }

/** A scope rule as lists of scopes. A token needs at least one scope of each list. */
type Clauses = readonly ReadonlySet<string>[]

/**
 * Compares the sets of scopes that two rules accept. The result is exact: a rule is stricter than another one if each
 * list of the other rule contains a complete list of the stricter rule.
 */
export function compareScopes(old: ScopeCheck | undefined, now: ScopeCheck | undefined): Shift {
  const [before, after] = [toClauses(old), toClauses(now)]
  return { gains: !isWithin(after, before), loses: !isWithin(before, after) }
}

function toClauses(check: ScopeCheck | undefined): Clauses {
  if (check === undefined) return []
  const all = check.all.map(({ grantedBy }) => new Set(grantedBy))
  const any = new Set(check.any.flatMap(({ grantedBy }) => grantedBy))
  return check.any.length === 0 ? all : [...all, any]
}

/**
 * Returns true when every token that satisfies `inner` also satisfies `outer`. Otherwise a token without the scopes of
 * one outer list would still satisfy every inner list.
 */
function isWithin(inner: Clauses, outer: Clauses): boolean {
  return outer.every((wanted) => inner.some((list) => list.isSubsetOf(wanted)))
}
