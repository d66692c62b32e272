import type { ScopeCatalogue } from './scope-catalogue.ts'

/**
 * Which scopes a scope comes with: by each scope, all that are as good as it, itself first. A scope without an entry is as
 * good as itself alone.
 */
export type ScopeImplication = ReadonlyMap<string, readonly string[]>

/** No scope comes with another one. */
export const NO_IMPLICATION: ScopeImplication = new Map()

/** Turns what a catalogue's scopes imply around, over any number of steps, so that nobody has to follow it later. */
export function readImplication(catalogue: ScopeCatalogue): ScopeImplication {
  const grantedBy = new Map<string, string[]>()
  for (const name of catalogue.keys())
    for (const implied of impliedBy(name, catalogue)) {
      const grants = grantedBy.get(implied) ?? [implied]
      grants.push(name)
      grantedBy.set(implied, grants)
    }
  return grantedBy
}

/** Every scope that a scope implies, at any distance, itself not. Ends on a cycle too. */
export function impliedBy(name: string, catalogue: ScopeCatalogue): ReadonlySet<string> {
  const implied = new Set<string>()
  const open = [...(catalogue.get(name)?.implies ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === name || implied.has(next)) continue
    implied.add(next)
    open.push(...(catalogue.get(next)?.implies ?? []))
  }
  return implied
}
