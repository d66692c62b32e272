/**
 * Writes an ECDSA signature of OpenSSL's, a sequence of two integers, as a JWS has it: both as numbers of a fixed size, one
 * behind the other. Left to `dsaEncoding: 'ieee-p1363'` of node:crypto, the same takes longer than the signature.
 * Source: RFC 7518 section 3.4; RFC 3279 section 2.2.3; X.690 section 8.3.
 * @param der of this process's own making, less than 128 bytes behind its head: P-256 or P-384.
 * @param size of each number, in bytes: that of the curve.
 */
export function signatureFromDer(der: Buffer, size: number): Buffer {
  const signature = Buffer.alloc(size * 2)
  let at = SEQUENCE_HEAD_BYTES
  for (const end of [size, size * 2]) {
    const to = at + INTEGER_HEAD_BYTES + (der[at + 1] as number)
    // A zero in front says that the number is positive; zeros that belong to it are not written.
    const from = Math.max(at + INTEGER_HEAD_BYTES, to - size)
    der.copy(signature, end - (to - from), from, to)
    at = to
  }
  return signature
}

const SEQUENCE_HEAD_BYTES = 2
const INTEGER_HEAD_BYTES = 2
