import { constants, verify } from 'node:crypto'
import type { Proof } from './read-dpop-proof.ts'
import { signatureToDer } from './signature-to-der.ts'

/** Size in bytes of each of the two integers of an ECDSA signature, by the curve of the key. RFC 7518 section 3.4. */
const NUMBER_BYTES: ReadonlyMap<string | undefined, number> = new Map([
  ['P-256', 32],
  ['P-384', 48],
])

/**
 * Returns whether the key in a proof signed it. Synchronous: the request needs the result, and a transfer of such a
 * small task to another thread costs more than it saves.
 * Source: RFC 7518 section 3, RFC 8037 section 3.1. Cost: about 0.06 ms for ES256.
 */
export function isSigned({ parts, key: { key, kind } }: Proof): boolean {
  const { algorithm, signature } = parts
  const data = Buffer.from(parts.signed)
  const digest = kind.kty === 'OKP' ? null : `sha${algorithm.slice(2)}`
  if (kind.kty === 'EC') {
    const der = signatureToDer(signature, NUMBER_BYTES.get(kind.curve) ?? 0)
    return der !== undefined && verify(digest, data, key, der)
  }
  if (!algorithm.startsWith('PS')) return verify(digest, data, key, signature)
  const padding = constants.RSA_PKCS1_PSS_PADDING
  return verify(digest, data, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }, signature)
}
