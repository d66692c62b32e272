/** Entry of `config/scopes.yaml`. */
export type ScopeDescription = {
  /** Scope token, e.g. `courses:read`. */
  readonly name: string
  /** One line for users. The consent page and `auth.md` show it. */
  readonly description: string
  /** Heading above the scope on the consent page, e.g. `Courses`. */
  readonly group: string
  /** `identity`: data about the user. `read`: read access. `write`: changes. */
  readonly sensitivity: 'identity' | 'read' | 'write'
  readonly implies?: readonly string[]
}

/** All scopes by name, in the order of the file. Metadata, consent page, auth.md and openapi.json use them. */
export type ScopeCatalogue = ReadonlyMap<string, ScopeDescription>
