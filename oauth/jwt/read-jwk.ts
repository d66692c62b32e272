import { createPublicKey, type KeyObject } from 'node:crypto'
import { ALGORITHMS, type KeyFault, type KeyKind, type VerificationKey } from './verification-key.ts'

/** RFC 7518 section 6: private members. A published key set must never contain them. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
/** Minimum size of an RSA key. RFC 7518 section 3.3. Bits. */
const RSA_MIN_BITS = 2_048
/** Maximum size of an RSA key. With a larger key, every signature verification is expensive. Bits. */
const RSA_MAX_BITS = 8_192
/** FIPS 186-5 section 5.4 requires an exponent of more than 2^16. The upper bound limits the cost of a verification. */
const EXPONENT_MIN = 65_537n
const EXPONENT_MAX = 0xffff_ffffn

/**
 * Validates a public key. Rejects weak keys and keys for other purposes.
 * Source: RFC 7517 section 4, RFC 7518 section 6, RFC 8725 sections 3.1 and 3.5.
 * @returns the key, or the reason why the key is not used. The reason contains no key material.
 */
export function readJwk(
  jwk: ReadonlyMap<string, unknown>,
  allowed: ReadonlySet<string>,
): VerificationKey | KeyFault {
  if (jwk.get('kty') === 'oct') return 'symmetric'
  if (PRIVATE_MEMBERS.some((name) => jwk.has(name))) return 'private_members'
  const kind = kindOf(jwk)
  if (kind === undefined) return 'unsupported'
  if (!isForSignatures(jwk)) return 'not_for_signatures'
  const kid = jwk.get('kid')
  if (kid !== undefined && typeof kid !== 'string') return 'invalid'

  const algorithm = jwk.get('alg')
  if (algorithm !== undefined) {
    if (typeof algorithm !== 'string' || !ALGORITHMS.has(algorithm)) return 'unsupported'
    if (!matchesKeyKind(algorithm, kind)) return 'algorithm_mismatch'
    if (!allowed.has(algorithm)) return 'algorithm_not_allowed'
  } else if (![...allowed].some((name) => matchesKeyKind(name, kind))) return 'algorithm_not_allowed'

  const members = publicMembers(jwk, kind)
  const key = members === undefined ? undefined : toKey(members)
  if (members === undefined || key === undefined) return 'invalid'
  const fault = kind.kty === 'RSA' ? rsaFault(members) : undefined
  if (fault !== undefined) return fault
  const publicJwk = {
    ...members,
    ...(kid === undefined ? {} : { kid }),
    ...(algorithm === undefined ? {} : { alg: algorithm }),
    ...(jwk.has('use') ? { use: 'sig' } : {}),
  }
  return Object.freeze({ kid, algorithm, kind, key, publicJwk: Object.freeze(publicJwk) })
}

export function matchesKeyKind(algorithm: string, kind: KeyKind): boolean {
  const needed = ALGORITHMS.get(algorithm)
  return needed !== undefined && needed.kty === kind.kty && needed.curve === kind.curve
}

function kindOf(jwk: ReadonlyMap<string, unknown>): KeyKind | undefined {
  const kty = jwk.get('kty')
  const curve = kty === 'RSA' ? undefined : jwk.get('crv')
  return [...ALGORITHMS.values()].find((kind) => kind.kty === kty && kind.curve === curve)
}

/** Returns whether the purpose of a key allows signatures. RFC 7517 sections 4.2 and 4.3. */
function isForSignatures(jwk: ReadonlyMap<string, unknown>): boolean {
  const use = jwk.get('use')
  const operations = jwk.get('key_ops')
  if (use !== undefined && use !== 'sig') return false
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
}

function publicMembers(
  jwk: ReadonlyMap<string, unknown>,
  kind: KeyKind,
): Readonly<Record<string, string>> | undefined {
  const names = kind.kty === 'RSA' ? ['n', 'e'] : kind.kty === 'EC' ? ['crv', 'x', 'y'] : ['crv', 'x']
  const members: Record<string, string> = { kty: kind.kty }
  for (const name of names) {
    const value = jwk.get(name)
    if (typeof value !== 'string' || value === '') return undefined
    members[name] = value
  }
  return members
}

function toKey(jwk: Readonly<Record<string, string>>): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    return undefined // a point outside its curve, or an invalid number
  }
}

function rsaFault(members: Readonly<Record<string, string>>): KeyFault | undefined {
  const modulus = toNumber(members['n'] ?? '')
  const exponent = toNumber(members['e'] ?? '')
  const bits = modulus.toString(2).length
  if (bits < RSA_MIN_BITS) return 'rsa_too_small'
  if (bits > RSA_MAX_BITS) return 'rsa_too_large'
  if (exponent < EXPONENT_MIN || exponent > EXPONENT_MAX || exponent % 2n === 0n) return 'rsa_exponent'
  if (modulus % 2n === 0n || isRocaModulus(modulus)) return 'rsa_weak'
  return undefined
}

function toNumber(base64url: string): bigint {
  return BigInt(`0x0${Buffer.from(base64url, 'base64url').toString('hex')}`)
}

/**
 * Modulo each of these primes, an RSA modulus of the weak generator (CVE-2017-15361) is a power of 65537.
 * A modulus from a correct generator has this property by chance in one of 2^27 cases.
 * Source: Nemec et al., "The Return of Coppersmith's Attack", section 3.
 */
const PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157] as const

const POWERS = PRIMES.map((prime) => ({ prime: BigInt(prime), powers: powersOf65537(prime) }))

/**
 * Returns whether an RSA modulus has the ROCA fingerprint (CVE-2017-15361). An attacker can compute the factors of such
 * a modulus.
 */
export function isRocaModulus(modulus: bigint): boolean {
  return POWERS.every(({ prime, powers }) => powers.has(Number(modulus % prime)))
}

function powersOf65537(prime: number): ReadonlySet<number> {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * 65_537) % prime) powers.add(power)
  return powers
}
