import { MAX_JWT_LENGTH, readJwtParts } from '../../../oauth/jwt/read-jwt-parts.ts'

/** A well-formed JWT. No claim is trusted before the signature is verified: anyone can create this text. */
export type CompactJwt = {
  /** The compact form, unmodified. RFC 7515 section 7.1. */
  readonly token: string
  readonly algorithm: string
  /** `kid`: used only for a lookup among the issuer's own keys. */
  readonly keyId: string | undefined
  /** `typ` in lower case, without `application/`. RFC 7515 section 4.1.9. */
  readonly type: string | undefined
  readonly claims: ReadonlyMap<string, unknown>
  /** `iss`, if it is a string: the issuer that must have signed the JWT. */
  readonly issuer: string | undefined
}

/** Start of a JSON object in base64url: `{`, followed by a quotation mark, white space or `}`. */
const BEGINS_WITH_OBJECT = /^e(?:y[A-DI-L]|w[k-r0-3]|3[0-3])/

/**
 * Parses the compact form of a signed JWT strictly: each part has one canonical encoding. Uses no cryptography and
 * sends no requests. Ignores keys and URLs in the header (`jwk`, `jku`, `x5u`, `x5c`). Source: RFC 7515 sections 5.2
 * and 7.1, RFC 7519 section 7.2, RFC 8725 sections 3.10 and 3.11. Cost: linear in the token. Rejects a token of more
 * than 8 KiB by its length.
 * @returns the JWT. `opaque` means that the token does not have the form of a JWT. `malformed` means that the token has
 * the form of a JWT, but is not valid.
 */
export function readCompactJwt(token: string): CompactJwt | 'opaque' | 'malformed' {
  if (token.length > MAX_JWT_LENGTH || token.startsWith('.')) return 'malformed'
  if (!token.includes('.') || !BEGINS_WITH_OBJECT.test(token)) return 'opaque'
  const parts = readJwtParts(token)
  if (parts === undefined) return isOfTwoRandomParts(token) ? 'opaque' : 'malformed'

  const { header, algorithm, claims } = parts
  const keyId = header.get('kid')
  const type = header.get('typ')
  if (keyId !== undefined && typeof keyId !== 'string') return 'malformed'
  if (type !== undefined && typeof type !== 'string') return 'malformed'
  const issuer = claims.get('iss')
  return {
    token,
    algorithm,
    keyId,
    type: type?.toLowerCase().replace(/^application\//, ''),
    claims,
    issuer: typeof issuer === 'string' ? issuer : undefined,
  }
}

/**
 * Returns whether a token is opaque and consists of two random parts. Some servers create opaque tokens of this form. A
 * JWT without a signature also has two parts, but its first part is a JSON header.
 */
function isOfTwoRandomParts(token: string): boolean {
  const [first = '', , ...others] = token.split('.', 3)
  if (others.length > 0) return false
  try {
    JSON.parse(Buffer.from(first, 'base64url').toString())
    return false
  } catch {
    return true
  }
}
