/**
 * Writes an ECDSA signature as OpenSSL reads it: `r` and `s` of a JWS, one behind the other, as a sequence of two integers.
 * Left to `dsaEncoding: 'ieee-p1363'` of node:crypto, the same takes as long as half of the check.
 * Source: RFC 7518 section 3.4; RFC 3279 section 2.2.3; X.690 sections 8.3 and 10.1.
 * @param size of each number, in bytes: that of the curve.
 * @returns undefined for a signature of another length.
 */
export function signatureToDer(signature: Buffer, size: number): Buffer | undefined {
  if (signature.length !== size * 2) return undefined
  const content = Buffer.concat([integer(signature.subarray(0, size)), integer(signature.subarray(size))])
  const length = content.length < LONG_FORM ? [content.length] : [LONG_FORM + 1, content.length]
  return Buffer.concat([Buffer.from([SEQUENCE, ...length]), content])
}

const SEQUENCE = 0x30
const INTEGER = 0x02
/** From here on, a length says first how many bytes it takes: one, for every curve there is. */
const LONG_FORM = 0x80

/** As few bytes as it takes; the first bit is its sign, and it is positive. */
function integer(bytes: Buffer): Buffer {
  let from = 0
  while (from < bytes.length - 1 && bytes[from] === 0) from += 1
  const digits = bytes.subarray(from)
  const isSigned = (digits[0] ?? 0) >= 0x80
  const head = isSigned ? [INTEGER, digits.length + 1, 0] : [INTEGER, digits.length]
  return Buffer.concat([Buffer.from(head), digits])
}
