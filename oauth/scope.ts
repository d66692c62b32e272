/** scope-token = 1*( %x21 / %x23-5B / %x5D-7E ). Source: RFC 6749 section 3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * Splits a scope string into its scope tokens, in order, each once.
 * Source: RFC 6749 section 3.3: tokens are separated by exactly one space.
 * @returns the tokens, or undefined when the string does not follow the grammar.
 */
export function parseScope(scope: string): readonly string[] | undefined {
  if (scope === '') return []
  const tokens = scope.split(' ')
  for (const token of tokens) if (!SCOPE_TOKEN.test(token)) return undefined
  return [...new Set(tokens)]
}

/** Joins scope tokens into the form that travels. Source: RFC 6749 section 3.3. */
export function formatScope(tokens: Iterable<string>): string {
  return [...tokens].join(' ')
}
