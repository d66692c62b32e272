/**
 * For each of these primes, a modulus of the weak generator (CVE-2017-15361) is a power of 65537. A properly generated
 * modulus has this property by chance in one of 2^27 cases.
 * Source: Nemec et al., "The Return of Coppersmith's Attack", section 3.
 */
const PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157] as const

const POWERS = PRIMES.map((prime) => ({ prime: BigInt(prime), powers: powersOf65537(prime) }))

/**
 * Returns whether an RSA modulus has the ROCA fingerprint (CVE-2017-15361). The factors of such a modulus can be
 * computed.
 */
export function isRocaModulus(modulus: bigint): boolean {
  return POWERS.every(({ prime, powers }) => powers.has(Number(modulus % prime)))
}

function powersOf65537(prime: number): ReadonlySet<number> {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * 65_537) % prime) powers.add(power)
  return powers
}
