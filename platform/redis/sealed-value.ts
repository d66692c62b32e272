import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'

/** The storage name of a value that belongs to one token, and the cipher for the value. */
export type Seal = {
  /** The name in base64url. The name reveals nothing about the token. */
  readonly name: string
  close(plain: string): Buffer
  /** @returns undefined for any input that {@link close} of this seal did not produce. */
  open(sealed: Buffer): string | undefined
}

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NAME_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Version of the format of sealed values. `open` rejects other versions. */
const VERSION = 1

/**
 * Creates seals. The key and the name of a seal are derived from a token. Without the token, the stored data is
 * unreadable. Without `secret`, an attacker with a token and write access to the store cannot forge a value.
 * Source: HKDF RFC 5869, AES-256-GCM NIST SP 800-38D. Cost of a seal: some microseconds.
 * @param options.purpose separates the uses of one token.
 * @param options.id identifies the issuer's configuration: a value that was sealed for another configuration cannot be
 * opened.
 */
export function createSeals(options: {
  readonly purpose: 'verdict' | 'refresh'
  readonly id: string
  readonly secret: string
}): (token: string) => Seal {
  const salt = hash('sha256', options.secret, 'buffer')
  const info = `scopegate ${options.purpose} ${VERSION}\n${options.id}`

  return (token) => {
    const derived = Buffer.from(hkdfSync('sha256', token, salt, info, KEY_BYTES + NAME_BYTES))
    const key = derived.subarray(0, KEY_BYTES)
    const name = derived.subarray(KEY_BYTES).toString('base64url')
    return {
      name,
      close(plain) {
        const nonce = randomBytes(NONCE_BYTES)
        const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(name))
        const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
        return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), text])
      },
      open(sealed) {
        if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION) return undefined
        const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
        const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES)
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(name)).setAuthTag(tag)
        try {
          const text = decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES))
          return Buffer.concat([text, decipher.final()]).toString('utf8')
        } catch {
          return undefined // sealed with another key
        }
      },
    }
  }
}
