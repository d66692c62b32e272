/** scope-token = 1*( %x21 / %x23-5B / %x5D-7E ). Source: RFC 6749 section 3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * Splits a scope string into its scope tokens, in order and without duplicates.
 * Source: RFC 6749 section 3.3, which requires exactly one space between tokens.
 * @returns the tokens, or undefined if the string violates the grammar.
 */
export function parseScope(scope: string): readonly string[] | undefined {
  if (scope === '') return []
  const tokens = scope.split(' ')
  for (const token of tokens) if (!SCOPE_TOKEN.test(token)) return undefined
  return [...new Set(tokens)]
}

export function formatScope(tokens: Iterable<string>): string {
  return [...tokens].join(' ')
}

/** Entry of `config/scopes.yaml`. */
export type ScopeDescription = {
  /** Scope token, e.g. `courses:read`. */
  readonly name: string
  /** One line for users. The consent page and `auth.md` show this line. */
  readonly description: string
  /** Heading above the scope on the consent page, e.g. `Courses`. */
  readonly group: string
  /** `identity`: data about the user. `read`: read access. `write`: changes. */
  readonly sensitivity: 'identity' | 'read' | 'write'
  readonly implies?: readonly string[]
}

/**
 * All scopes by name, in the order of the file. Metadata, consent page, auth.md and openapi.json use this catalogue.
 */
export type ScopeCatalogue = ReadonlyMap<string, ScopeDescription>

/**
 * Maps each scope to the scopes that grant this scope. Each list begins with the scope itself.
 * A scope without an entry is granted only by itself.
 */
export type ScopeImplication = ReadonlyMap<string, readonly string[]>

export const NO_IMPLICATION: ScopeImplication = new Map()

/**
 * Inverts the `implies` relation of a catalogue.
 * The result includes indirect implications, so that a scope check does not need to follow chains of `implies`.
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
