import { hash } from 'node:crypto'
import { DPOP_ALGORITHMS } from '../../../oauth/dpop-algorithms.ts'
import type { ProofFault } from '../../../policy-engine/decide/refusal.ts'
import type { IssuerKey } from '../jwt/issuer-key.ts'
import { fits, readJwk } from '../jwt/read-jwk.ts'
import { type JwtParts, readJwtParts } from '../jwt/read-jwt-parts.ts'

/** A well-formed proof. No claim is trusted before the signature is verified. */
export type Proof = {
  readonly parts: JwtParts
  readonly key: IssuerKey
  /** SHA-256 thumbprint of the key. RFC 7638 section 3. */
  readonly thumbprint: string
}

const ALLOWED: ReadonlySet<string> = new Set(DPOP_ALGORITHMS)

/**
 * Parses a DPoP proof and the public key in it. Does not verify the signature.
 * Source: RFC 9449 sections 4.2 and 4.3, steps 3 to 6 and 8.
 */
export function readProof(text: string): Proof | ProofFault {
  // Several header lines with one name are joined by commas: RFC 9110 section 5.3. A compact JWS contains no comma.
  if (text.includes(',')) return 'repeated'
  const parts = readJwtParts(text)
  if (parts === undefined) return 'malformed'
  const { header, algorithm } = parts
  if (header.get('typ') !== 'dpop+jwt') return 'wrong_type'
  if (!ALLOWED.has(algorithm)) return 'wrong_algorithm'
  const jwk = header.get('jwk')
  if (typeof jwk !== 'object' || jwk === null || Array.isArray(jwk)) return 'bad_key'
  const key = readJwk(new Map<string, unknown>(Object.entries(jwk)), ALLOWED)
  if (typeof key === 'string' || !fits(algorithm, key.kind)) return 'bad_key'
  if (key.algorithm !== undefined && key.algorithm !== algorithm) return 'bad_key'
  return { parts, key, thumbprint: thumbprintOf(key) }
}

/** RFC 7638 section 3.2, RFC 8037 section 2: only the required members, in lexicographic order, without white space. */
function thumbprintOf({ kind, publicJwk }: IssuerKey): string {
  const names =
    kind.kty === 'RSA'
      ? ['e', 'kty', 'n']
      : kind.kty === 'EC'
        ? ['crv', 'kty', 'x', 'y']
        : ['crv', 'kty', 'x']
  return hash('sha256', JSON.stringify(publicJwk, names), 'base64url')
}
