const MAX_LENGTH = 64
// Letters, digits and marks of any script, joined by the signs that names and mail addresses hold.
const USERNAME = /^[\p{L}\p{N}\p{M}][\p{L}\p{N}\p{M}._@+-]*$/u

/**
 * The one spelling of a username: NFKC, lower case, no spaces around it; at most 64 characters.
 * @returns undefined when no account can have this name.
 */
export function normalizeUsername(typed: string): string | undefined {
  if (typed.length > 4 * MAX_LENGTH) return undefined
  // Lower-casing can undo the composition, so it is normalised again.
  const username = typed.normalize('NFKC').trim().toLowerCase().normalize('NFKC')
  return username.length <= MAX_LENGTH && USERNAME.test(username) ? username : undefined
}
