import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { createFileOnce, readSecretFile } from './create-file-once.ts'

const KEY_BYTES = 32
const SHORTEST_KEY = 32 // characters: 128 bits even in hexadecimal

/**
 * Reads the keys that sign cookies, newest first, one per line.
 * Reads the configured file, or `cookie-keys` in the data folder, which it creates on the first start.
 * @throws {BootError} ERR_SECRET_FILE, ERR_DATA_DIR, ERR_COOKIE_KEYS.
 */
export async function loadCookieKeys(options: {
  readonly cookieKeysFile: string | undefined
  readonly dataDir: string
}): Promise<readonly string[]> {
  if (options.cookieKeysFile !== undefined)
    return parseCookieKeys(
      await readSecretFile(options.cookieKeysFile, 'cookieKeysFile'),
      options.cookieKeysFile,
    )
  const file = join(options.dataDir, 'cookie-keys')
  const text = await createFileOnce(file, async () => `${randomBytes(KEY_BYTES).toString('base64url')}\n`)
  return parseCookieKeys(text, file)
}

function parseCookieKeys(text: string, file: string): readonly string[] {
  const keys = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
  if (keys.length === 0 || keys.some((key) => key.length < SHORTEST_KEY))
    throw new BootError(
      'ERR_COOKIE_KEYS',
      `${file}: it must contain one cookie key per line, newest first, each at least ${SHORTEST_KEY} characters long.`,
      { exitCode: 3 },
    )
  return keys
}
