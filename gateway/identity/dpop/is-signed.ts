import { constants, verify } from 'node:crypto'
import type { Proof } from './read-proof.ts'

/**
 * Whether the key in a proof signed it. At once, in this thread: a request cannot go on without it, and handing so little
 * work to another thread costs more than it saves.
 * Source: RFC 7518 section 3, RFC 8037 section 3.1. Cost: about 0.1 ms for ES256.
 */
export function isSigned({ parts, key }: Proof): boolean {
  const { algorithm, signature } = parts
  const data = Buffer.from(parts.signed)
  const digest = key.kind.kty === 'OKP' ? null : `sha${algorithm.slice(2)}`
  return verify(
    digest,
    data,
    {
      key: key.key,
      dsaEncoding: 'ieee-p1363',
      ...(algorithm.startsWith('PS')
        ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
        : {}),
    },
    signature,
  )
}
