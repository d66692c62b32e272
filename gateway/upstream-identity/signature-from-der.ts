/**
 * Converts an ECDSA signature of OpenSSL from DER, a sequence of two integers, to the JWS form. The JWS form is two
 * concatenated integers of fixed size. With `dsaEncoding: 'ieee-p1363'` of node:crypto, this conversion takes longer
 * than the signature.
 * Source: RFC 7518 section 3.4; RFC 3279 section 2.2.3; X.690 section 8.3.
 * @param der signature created by this process, with less than 128 bytes after its head: P-256 or P-384.
 * @param size size of each integer in bytes, given by the curve.
 */
export function signatureFromDer(der: Buffer, size: number): Buffer {
  const signature = Buffer.alloc(size * 2)
  let at = SEQUENCE_HEAD_BYTES
  for (const end of [size, size * 2]) {
    const to = at + INTEGER_HEAD_BYTES + (der[at + 1] as number)
    // DER adds a zero byte in front of a number whose first bit is set, and omits the leading zero bytes of a number.
    const from = Math.max(at + INTEGER_HEAD_BYTES, to - size)
    der.copy(signature, end - (to - from), from, to)
    at = to
  }
  return signature
}

const SEQUENCE_HEAD_BYTES = 2
const INTEGER_HEAD_BYTES = 2
