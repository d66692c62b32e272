/** One scope as operators describe it in `config/scopes.yaml`. */
export type ScopeDescription = {
  /** The scope token, e.g. `courses:read`. */
  readonly name: string
  /** One line in plain words, shown on the consent page and in `auth.md`. */
  readonly description: string
  /** The heading it stands under on the consent page, e.g. `Courses`. */
  readonly group: string
  /** `identity` is about the person, `read` looks, `write` changes. */
  readonly sensitivity: 'identity' | 'read' | 'write'
  /** Scopes that whoever has this one needs not ask for as well. */
  readonly implies?: readonly string[]
}

/** Every scope there is, by name, in the order of the file. It feeds metadata, consent, auth.md and openapi.json. */
export type ScopeCatalogue = ReadonlyMap<string, ScopeDescription>
