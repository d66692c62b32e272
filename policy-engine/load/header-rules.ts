/** Header name in lower case, and one value. */
export type HeaderValue = { readonly name: string; readonly value: string }

/** Changes to headers. Order: `remove`, then `set` (replaces existing values), then `add` (keeps existing values). */
export type HeaderChanges = {
  readonly set: readonly HeaderValue[]
  readonly add: readonly HeaderValue[]
  /** Names in lower case. */
  readonly remove: readonly string[]
}

/** The `headers` of a policy: changes to requests for the upstream, and to its responses. */
export type HeaderRules = { readonly request: HeaderChanges; readonly response: HeaderChanges }
