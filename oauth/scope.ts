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

/** Joins scope tokens to a scope string. Source: RFC 6749 section 3.3. */
export function formatScope(tokens: Iterable<string>): string {
  return [...tokens].join(' ')
}
