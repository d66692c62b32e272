/** A header and one value of it. The name is in small letters. */
export type HeaderValue = { readonly name: string; readonly value: string }

/** What becomes of headers: first `remove`, then `set` (in place of what is there), then `add` (beside it). */
export type HeaderChanges = {
  readonly set: readonly HeaderValue[]
  readonly add: readonly HeaderValue[]
  /** Names in small letters. */
  readonly remove: readonly string[]
}

/** A policy's `headers`: changes on the way to the upstream, and on the way back. */
export type HeaderRules = { readonly request: HeaderChanges; readonly response: HeaderChanges }
