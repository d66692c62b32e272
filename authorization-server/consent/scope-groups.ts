import type { ScopeCatalogue, ScopeDescription } from '../../oauth/scope-catalogue.ts'
import { impliedBy } from '../../oauth/scope-implication.ts'

/** A scope that somebody may allow, and what comes with it, in the words of the catalogue. */
export type ScopeChoice = ScopeDescription & { readonly comesWith: readonly string[] }

/** Scopes under one heading of the consent page. */
export type ScopeGroup = { readonly name: string; readonly scopes: readonly ScopeChoice[] }

/** Says only that somebody signed in: it goes with every sign-in and is not a choice of its own. */
const SIGN_IN_SCOPE = 'openid'

/** Sorts what a client asks for under the catalogue's headings, in the catalogue's order; `openid` is left out. */
export function groupScopes(scopes: readonly string[], catalogue: ScopeCatalogue): readonly ScopeGroup[] {
  const asked = new Set(scopes)
  const groups = new Map<string, ScopeChoice[]>()
  for (const scope of catalogue.values()) {
    if (!asked.has(scope.name) || scope.name === SIGN_IN_SCOPE) continue
    const implied = impliedBy(scope.name, catalogue)
    const comesWith = [...catalogue.values()]
      .filter(({ name }) => implied.has(name))
      .map(({ description }) => description)
    groups.set(scope.group, [...(groups.get(scope.group) ?? []), { ...scope, comesWith }])
  }
  return [...groups].map(([name, members]) => ({ name, scopes: members }))
}
