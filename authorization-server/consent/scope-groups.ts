import { impliedBy, type ScopeCatalogue, type ScopeDescription } from '../../oauth/scope.ts'

/** A scope on the consent page, with the descriptions of the scopes that it implies. */
export type ScopeChoice = ScopeDescription & { readonly comesWith: readonly string[] }

/** Scopes under one heading of the consent page. */
export type ScopeGroup = { readonly name: string; readonly scopes: readonly ScopeChoice[] }

/** Part of every sign-in, so it has no checkbox. */
const SIGN_IN_SCOPE = 'openid'

/** Groups the requested scopes under the headings of the catalogue, in its order. Omits `openid`. */
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
