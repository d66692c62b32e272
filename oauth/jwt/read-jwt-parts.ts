import { parseJsonObject } from './parse-json-object.ts'

/** Maximum length of a JWT in characters. A JWT contains only ASCII, so each character is one byte. */
export const MAX_JWT_LENGTH = 8 * 1024

/** The decoded parts of a signed JWT. No claim is trusted before the signature is verified. */
export type JwtParts = {
  readonly header: ReadonlyMap<string, unknown>
  readonly algorithm: string
  readonly claims: ReadonlyMap<string, unknown>
  readonly signature: Buffer
  /** The signing input: header and claims, unmodified. RFC 7515 section 5.1. */
  readonly signed: string
}

/**
 * Header members that change the meaning of the other parts. The parser rejects a JWT with one of these members.
 * Source: RFC 7515 section 4.1.11 for `crit`, RFC 7797 for `b64`, RFC 7516 section 4.1 for encryption and compression.
 */
const NOT_UNDERSTOOD = ['crit', 'b64', 'enc', 'zip', 'epk', 'p2c', 'p2s'] as const

/**
 * Splits and decodes a compact form strictly: each part has one canonical encoding. Uses no cryptography and sends no
 * requests. Do not use the text as the ID of a JWT: each ECDSA signature has a second valid form (docs/decisions/0024).
 * Source: RFC 7515 sections 5.2 and 7.1, RFC 7519 section 7.2, RFC 8725 sections 3.10 and 3.11.
 * Cost: linear in the text. A text of more than 8 KiB is rejected by its length.
 * @returns undefined when the text is not valid.
 */
export function readJwtParts(text: string): JwtParts | undefined {
  if (text.length > MAX_JWT_LENGTH) return undefined
  const first = text.indexOf('.')
  const second = text.indexOf('.', first + 1)
  // A text with four dots would be a JWE: RFC 7516 section 7.1.
  if (first === -1 || second === -1 || text.includes('.', second + 1)) return undefined

  const header = readPart(text.slice(0, first))
  const claims = readPart(text.slice(first + 1, second))
  const signature = decode(text.slice(second + 1))
  if (header === undefined || claims === undefined || signature === undefined) return undefined
  const algorithm = header.get('alg')
  if (typeof algorithm !== 'string' || NOT_UNDERSTOOD.some((name) => header.has(name))) return undefined
  return { header, algorithm, claims, signature, signed: text.slice(0, second) }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function readPart(part: string): ReadonlyMap<string, unknown> | undefined {
  const bytes = decode(part)
  if (bytes === undefined) return undefined
  try {
    return parseJsonObject(UTF8.decode(bytes))
  } catch {
    return undefined // not UTF-8
  }
}

/**
 * Decodes only canonical base64url. Node also decodes other forms. Therefore the function encodes the result again and
 * compares the two texts. This comparison also rejects other trailing bits. RFC 4648 sections 3.5 and 5.
 */
function decode(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === part ? bytes : undefined
}
