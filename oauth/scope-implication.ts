import type { ScopeCatalogue } from './scope-catalogue.ts'

/**
 * Maps each scope to the scopes that grant it. The first one is the scope itself.
 * A scope without an entry is granted only by itself.
 */
export type ScopeImplication = ReadonlyMap<string, readonly string[]>

export const NO_IMPLICATION: ScopeImplication = new Map()

/**
 * Inverts the `implies` relation of a catalogue.
 * The result includes indirect implications, so a scope check does not follow chains of `implies`.
 */
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

/** Returns all scopes that a scope implies directly or indirectly, without the scope itself. Terminates on cycles. */
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
