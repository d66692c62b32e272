import type { ScopeGroup } from './scope-groups.ts'

/**
 * Returns the requested scopes that the person ticked, in the order of the request.
 * Scopes without a checkbox on the page (`openid`) are granted with the others.
 * @param ticked scopes of the page only: the form cannot add any.
 * @returns undefined when the page had checkboxes and all were unticked.
 */
export function grantedScopes(
  requested: readonly string[],
  groups: readonly ScopeGroup[],
  ticked: ReadonlySet<string>,
): readonly string[] | undefined {
  const choices = new Set(groups.flatMap(({ scopes }) => scopes.map(({ name }) => name)))
  if (choices.size > 0 && ticked.size === 0) return undefined
  return requested.filter((scope) => !choices.has(scope) || ticked.has(scope))
}
