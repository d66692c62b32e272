import type { CompactJwt } from './compact-jwt.ts'
import { parseJsonObject } from './parse-json-object.ts'

/** No token is longer. Bytes: a token that came through HTTP holds ASCII. */
const MAX_LENGTH = 8 * 1024

/** What base64url makes of `{` and any byte behind it. A token that begins otherwise has no JSON object in front. */
const BEGINS_WITH_OBJECT = /^e[w-z0-9_-]/

/**
 * Header members that change what the rest means. A token that has one is not understood: RFC 7515 section 4.1.11 for
 * `crit`, RFC 7797 for `b64`, RFC 7516 section 4.1 for encryption and compression.
 */
const NOT_UNDERSTOOD = ['crit', 'b64', 'enc', 'zip', 'epk', 'p2c', 'p2s'] as const

/**
 * Reads the compact form of a signed JWT, strictly: one token has one spelling. No cryptography, nothing is fetched;
 * keys and addresses in the header (`jwk`, `jku`, `x5u`, `x5c`) are not even read.
 * Source: RFC 7515 sections 5.2 and 7.1, RFC 7519 section 7.2, RFC 8725 sections 3.10 and 3.11.
 * Cost: linear in the token, nothing beyond its length when that is more than 8 KiB.
 * @returns the JWT; `opaque` when the token does not look like one; `malformed` when it does and is none.
 */
export function readCompactJwt(token: string): CompactJwt | 'opaque' | 'malformed' {
  if (token.length > MAX_LENGTH || token.startsWith('.')) return 'malformed'
  const first = token.indexOf('.')
  if (first === -1 || !BEGINS_WITH_OBJECT.test(token)) return 'opaque'
  const second = token.indexOf('.', first + 1)
  // Four dots would be a JWE: RFC 7516 section 7.1.
  if (second === -1 || token.includes('.', second + 1)) return 'malformed'

  const header = readPart(token.slice(0, first))
  const claims = readPart(token.slice(first + 1, second))
  const signature = decode(token.slice(second + 1))
  if (header === undefined || claims === undefined || signature === undefined) return 'malformed'

  const algorithm = header.get('alg')
  const keyId = header.get('kid')
  const type = header.get('typ')
  if (typeof algorithm !== 'string') return 'malformed'
  if (keyId !== undefined && typeof keyId !== 'string') return 'malformed'
  if (type !== undefined && typeof type !== 'string') return 'malformed'
  if (NOT_UNDERSTOOD.some((name) => header.has(name))) return 'malformed'
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

/** Node reads base64url leniently; what it writes is canonical, trailing bits included. RFC 4648 sections 3.5 and 5. */
function decode(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === part ? bytes : undefined
}
