import type { ScopeCatalogue, ScopeDescription } from '../../oauth/scope-catalogue.ts'

/** Scopes under one heading of the consent page. */
export type ScopeGroup = { readonly name: string; readonly scopes: readonly ScopeDescription[] }

/** Says only that somebody signed in: it goes with every sign-in and is not a choice of its own. */
const SIGN_IN_SCOPE = 'openid'

/** Sorts what a client asks for under the catalogue's headings, in the catalogue's order; `openid` is left out. */
export function groupScopes(scopes: readonly string[], catalogue: ScopeCatalogue): readonly ScopeGroup[] {
  const asked = new Set(scopes)
  const groups = new Map<string, ScopeDescription[]>()
  for (const scope of catalogue.values()) {
    if (!asked.has(scope.name) || scope.name === SIGN_IN_SCOPE) continue
    groups.set(scope.group, [...(groups.get(scope.group) ?? []), scope])
  }
  return [...groups].map(([name, members]) => ({ name, scopes: members }))
}
