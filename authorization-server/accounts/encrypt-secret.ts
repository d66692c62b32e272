import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/**
 * Encrypts a secret with AES-256-GCM. The key derives from the newest cookie key.
 * @param context the place of the result, for example an account. The result is readable only with the same context.
 */
export function encryptSecret(secret: Buffer, context: string, cookieKeys: readonly string[]): string {
  const [newest] = cookieKeys
  if (newest === undefined) throw new TypeError('at least one cookie key is required')
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(newest), iv).setAAD(Buffer.from(context))
  const encrypted = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url')
}

/**
 * Decrypts a result of {@link encryptSecret}. Tries each cookie key.
 * @returns undefined if the result is damaged or has another context, or if its cookie key is lost. `isOutdated` is
 * true if an earlier key encrypted the secret.
 */
export function decryptSecret(
  encrypted: string,
  context: string,
  cookieKeys: readonly string[],
): { readonly secret: Buffer; readonly isOutdated: boolean } | undefined {
  const bytes = Buffer.from(encrypted, 'base64url')
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined
  for (const [index, cookieKey] of cookieKeys.entries()) {
    const decipher = createDecipheriv('aes-256-gcm', keyOf(cookieKey), bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    try {
      const secret = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
      return { secret, isOutdated: index > 0 }
    } catch {
      // tries the next key
    }
  }
  return undefined
}

function keyOf(cookieKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', cookieKey, '', 'scopegate second factors', KEY_BYTES))
}
