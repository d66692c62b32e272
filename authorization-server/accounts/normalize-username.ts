const MAX_LENGTH = 64
// Letters, digits and marks of any script, and the punctuation of names and email addresses.
const USERNAME = /^[\p{L}\p{N}\p{M}][\p{L}\p{N}\p{M}._@+-]*$/u

/**
 * Normalizes a username: NFKC, lower case, no surrounding spaces.
 * @returns undefined when the name is not valid or has more than 64 characters.
 */
export function normalizeUsername(typed: string): string | undefined {
  if (typed.length > 4 * MAX_LENGTH) return undefined
  // Lower-casing can undo the composition, so the second normalization restores it.
  const username = typed.normalize('NFKC').trim().toLowerCase().normalize('NFKC')
  return username.length <= MAX_LENGTH && USERNAME.test(username) ? username : undefined
}
