import { impliedBy, type ScopeCatalogue, type ScopeDescription } from '../../oauth/scope.ts'
import type { Form } from '../../platform/pages/read-form.ts'

/** Largest number of scopes with write access that the page ticks by default. See docs/decisions/0027. */
const MAX_TICKED_WRITES = 3

/** Form field of the checkboxes for a group and for all groups. */
export const TOGGLE_FIELD = 'toggle'
/** Value of {@link TOGGLE_FIELD} for all groups. */
export const TOGGLE_ALL = 'all'

export function toggleValue(group: ScopeGroup): string {
  return `group.${group.name}`
}

export function scopeField(scope: string): string {
  return `scope.${scope}`
}

type ToggleState = 'true' | 'false' | 'mixed'

/**
 * Returns the scopes that are ticked when the page opens. These are all scopes, or only the read-only scopes if more
 * than {@link MAX_TICKED_WRITES} scopes give write access.
 */
export function defaultTicks(groups: readonly ScopeGroup[]): ReadonlySet<string> {
  const choices = groups.flatMap(({ scopes }) => scopes)
  const tooManyWrites = choices.filter(canChange).length > MAX_TICKED_WRITES
  return namesOf(tooManyWrites ? choices.filter((scope) => !canChange(scope)) : choices)
}

/** Returns the scopes of the page that are ticked in a posted form. */
export function postedTicks(groups: readonly ScopeGroup[], form: Form): ReadonlySet<string> {
  const choices = groups.flatMap(({ scopes }) => scopes)
  return namesOf(choices.filter(({ name }) => form.get(scopeField(name)) === 'on'))
}

/**
 * Ticks all scopes of a toggle. If all these scopes are ticked already, unticks all these scopes.
 * @param toggle the posted value of {@link TOGGLE_FIELD}; an unknown value changes nothing.
 */
export function toggleTicks(
  groups: readonly ScopeGroup[],
  ticked: ReadonlySet<string>,
  toggle: string,
): ReadonlySet<string> {
  const members = groups
    .filter((group) => toggle === TOGGLE_ALL || toggle === toggleValue(group))
    .flatMap(({ scopes }) => scopes)
  const names = namesOf(members)
  return toggleState(members, ticked) === 'true' ? ticked.difference(names) : ticked.union(names)
}

export function toggleState(scopes: readonly ScopeChoice[], ticked: ReadonlySet<string>): ToggleState {
  const count = scopes.filter(({ name }) => ticked.has(name)).length
  if (count === 0) return 'false'
  return count === scopes.length ? 'true' : 'mixed'
}

export function canChange(scope: Pick<ScopeChoice, 'sensitivity'>): boolean {
  return scope.sensitivity === 'write'
}

function namesOf(scopes: readonly ScopeChoice[]): ReadonlySet<string> {
  return new Set(scopes.map(({ name }) => name))
}

/** A scope on the consent page, with the descriptions of the scopes that it implies. */
export type ScopeChoice = ScopeDescription & { readonly impliedDescriptions: readonly string[] }

/** Scopes under one heading of the consent page. */
export type ScopeGroup = { readonly name: string; readonly scopes: readonly ScopeChoice[] }

/** This scope has no checkbox, because every sign-in includes this scope. */
const SIGN_IN_SCOPE = 'openid'

/** Groups the requested scopes under the headings of the catalogue, in the order of the catalogue. Omits `openid`. */
export function groupScopes(scopes: readonly string[], catalogue: ScopeCatalogue): readonly ScopeGroup[] {
  const asked = new Set(scopes)
  const groups = new Map<string, ScopeChoice[]>()
  for (const scope of catalogue.values()) {
    if (!asked.has(scope.name) || scope.name === SIGN_IN_SCOPE) continue
    const implied = impliedBy(scope.name, catalogue)
    const impliedDescriptions = [...catalogue.values()]
      .filter(({ name }) => implied.has(name))
      .map(({ description }) => description)
    groups.set(scope.group, [
      ...(groups.get(scope.group) ?? []),
      { ...scope, impliedDescriptions: impliedDescriptions },
    ])
  }
  return [...groups].map(([name, members]) => ({ name, scopes: members }))
}

/**
 * Returns the requested scopes that the person ticked, in the order of the request. The result also contains the scopes
 * without a checkbox on the page (`openid`).
 * @param ticked scopes of the page only, so the form cannot add a scope.
 * @returns undefined if the page has checkboxes, and the person ticked no checkbox.
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
