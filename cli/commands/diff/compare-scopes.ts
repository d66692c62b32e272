import type { ScopeCheck } from '../../../policy-engine/decide/scope-check.ts'

/** Which way a set of callers changed. Both: some gained, others lost. */
export type Shift = { readonly gains: boolean; readonly loses: boolean }

export const SAME: Shift = { gains: false, loses: false }

/** A rule as lists of scopes, one of each of which is needed. */
type Clauses = readonly ReadonlySet<string>[]

/**
 * Compares the sets of scopes that two rules accept. Exact: one such rule lets fewer through than another one when each list
 * of the other holds a whole list of its own.
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

/** Whether whoever meets `inner` meets `outer`. Without all of an outer list, an inner list none of which is left fails. */
function isWithin(inner: Clauses, outer: Clauses): boolean {
  return outer.every((wanted) => inner.some((list) => list.isSubsetOf(wanted)))
}
