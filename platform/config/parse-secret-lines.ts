import { BootError } from '../diagnostics/boot-error.ts'

/**
 * Maximum number of accepted secrets in a file. The service compares an unknown secret or cookie with each of these
 * secrets.
 */
const MAX_SECRETS = 10

/**
 * Returns the secrets of a file: one per line, newest first, without blank lines and surrounding white space.
 * @throws {BootError} ERR_SECRET_FILE when the file has more than 10 secrets.
 */
export function parseSecretLines(text: string, file: string): readonly string[] {
  const secrets = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  if (secrets.length > MAX_SECRETS)
    throw new BootError(
      'ERR_SECRET_FILE',
      `${file}: the file has ${secrets.length} secrets, more than ${MAX_SECRETS}. Remove old secrets.`,
      { exitCode: 3 },
    )
  return secrets
}
