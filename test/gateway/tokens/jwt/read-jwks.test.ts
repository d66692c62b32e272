import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { findKey } from '../../../../gateway/tokens/jwt/find-key.ts'
import { readJwks } from '../../../../gateway/tokens/jwt/read-jwks.ts'
import { isRocaModulus } from '../../../../oauth/jwt/read-jwk.ts'
import { ALGORITHMS } from '../../../../oauth/jwt/verification-key.ts'
import { aKey, type Jwk, publicJwk } from '../../../fixtures/jwk.ts'

const ALL = new Set(ALGORITHMS.keys())
const rsa = aKey('RS256', 'r')
const ec = aKey('ES256', 'e')
const base64url = (number: bigint) => {
  const hex = number.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url')
}
const withMembers = (jwk: Jwk, change: Jwk) => ({ ...jwk, ...change })

/** Returns an RSA modulus with the ROCA fingerprint. Modulo each prime in the list, the modulus is a power of 65537. */
const rocaModulus = () => {
  const product = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]
    .map(BigInt)
    .reduce((one, other) => one * other)
  const start = 2n ** 2_047n
  const modulus = start - (start % product) + product + 1n
  return modulus % 2n === 1n ? modulus : modulus + product
}

const DROPPED: readonly (readonly [what: string, key: unknown, reason: string])[] = [
  ['an octet key', { kty: 'oct', k: 'c2VjcmV0', kid: 'x', alg: 'HS256' }, 'symmetric'],
  ['an octet key with alg RS256', { kty: 'oct', k: 'c2VjcmV0', kid: 'x', alg: 'RS256' }, 'symmetric'],
  ['a private RSA key', { ...rsa.privateKey.export({ format: 'jwk' }), kid: 'x' }, 'private_members'],
  ['a private EC key', { ...ec.privateKey.export({ format: 'jwk' }), kid: 'x' }, 'private_members'],
  ['an RSA key that also has k', withMembers(rsa.jwk, { k: 'c2VjcmV0' }), 'private_members'],
  [
    'an RSA key of 1,024 bits',
    publicJwk(generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey),
    'rsa_too_small',
  ],
  ['an RSA key of 2,047 bits', withMembers(rsa.jwk, { n: base64url(2n ** 2_046n + 1n) }), 'rsa_too_small'],
  [
    'an RSA key with leading zeros',
    withMembers(rsa.jwk, {
      n: Buffer.concat([Buffer.alloc(128), Buffer.alloc(128, 0xff)]).toString('base64url'),
    }),
    'rsa_too_small',
  ],
  ['an RSA key of 16,384 bits', withMembers(rsa.jwk, { n: base64url(2n ** 16_383n + 1n) }), 'rsa_too_large'],
  ['the RSA exponent 1', withMembers(rsa.jwk, { e: 'AQ' }), 'rsa_exponent'],
  ['the RSA exponent 3', withMembers(rsa.jwk, { e: 'Aw' }), 'rsa_exponent'],
  ['an even RSA exponent', withMembers(rsa.jwk, { e: base64url(65_538n) }), 'rsa_exponent'],
  ['an RSA exponent of 5 bytes', withMembers(rsa.jwk, { e: base64url(2n ** 32n + 1n) }), 'rsa_exponent'],
  [
    'an RSA modulus with the ROCA weakness',
    withMembers(rsa.jwk, { n: base64url(rocaModulus()) }),
    'rsa_weak',
  ],
  ['an even RSA modulus', withMembers(rsa.jwk, { n: base64url(2n ** 2_047n) }), 'rsa_weak'],
  ['an RSA key without n', withMembers(rsa.jwk, { n: undefined }), 'invalid'],
  ['an RSA key with a number as n', withMembers(rsa.jwk, { n: 5 }), 'invalid'],
  ['a point that is not on its curve', withMembers(ec.jwk, { x: ec.jwk['y'], y: ec.jwk['x'] }), 'invalid'],
  ['a point at infinity', withMembers(ec.jwk, { x: 'AA', y: 'AA' }), 'invalid'],
  ['an EC key without y', withMembers(ec.jwk, { y: undefined }), 'invalid'],
  ['a kid that is a number', withMembers(ec.jwk, { kid: 7 }), 'invalid'],
  [
    'the curve secp256k1',
    { ...publicJwk(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey), kid: 'x' },
    'unsupported',
  ],
  ['the curve Ed448', { ...publicJwk(generateKeyPairSync('ed448').privateKey), kid: 'x' }, 'unsupported'],
  [
    'a key for key agreement',
    { ...publicJwk(generateKeyPairSync('x25519').privateKey), kid: 'x' },
    'unsupported',
  ],
  ['an unknown kty', { kty: 'XYZ', kid: 'x' }, 'unsupported'],
  ['a key without kty', { kid: 'x' }, 'unsupported'],
  ['use: enc', withMembers(ec.jwk, { use: 'enc' }), 'not_for_signatures'],
  ['use: null', withMembers(ec.jwk, { use: null }), 'not_for_signatures'],
  ['key_ops without verify', withMembers(ec.jwk, { key_ops: ['sign'] }), 'not_for_signatures'],
  ['key_ops that is text', withMembers(ec.jwk, { key_ops: 'verify' }), 'not_for_signatures'],
  ['an alg of another key type', withMembers(ec.jwk, { alg: 'RS256' }), 'algorithm_mismatch'],
  ['an alg of another curve', withMembers(ec.jwk, { alg: 'ES384' }), 'algorithm_mismatch'],
  ['alg HS256 on an RSA key', withMembers(rsa.jwk, { alg: 'HS256' }), 'unsupported'],
  ['alg none', withMembers(rsa.jwk, { alg: 'none' }), 'unsupported'],
  ['alg RSA-OAEP', withMembers(rsa.jwk, { alg: 'RSA-OAEP' }), 'unsupported'],
  ['alg that is an array', withMembers(rsa.jwk, { alg: ['RS256'] }), 'unsupported'],
  ['a text instead of a key', 'key', 'not_a_key'],
  ['null instead of a key', null, 'not_a_key'],
  ['an array instead of a key', [ec.jwk], 'not_a_key'],
]

for (const [what, key, reason] of DROPPED)
  t.test(`readJwks() drops ${what} as ${reason}, and keeps the other key`, async (t) => {
    const set = readJwks({ keys: [key, aKey('EdDSA', 'good').jwk] }, ALL)
    t.match(set?.dropped, [{ reason }])
    t.same(
      set?.keys.map(({ kid }) => kid),
      ['good'],
    )
  })

t.test('readJwks() drops different keys with the same key ID, and keeps a repeated key once', async (t) => {
  const other = aKey('ES256', 'e')
  const set = readJwks({ keys: [ec.jwk, other.jwk, rsa.jwk, { ...rsa.jwk }] }, ALL)
  t.same(set?.dropped, [
    { kid: 'e', reason: 'duplicate_kid' },
    { kid: 'e', reason: 'duplicate_kid' },
  ])
  t.same(
    set?.keys.map(({ kid }) => kid),
    ['r'],
  )
})

t.test('RFC 7517 §4.5: keys of different types may share a key ID', async (t) => {
  const set = readJwks({ keys: [ec.jwk, { ...rsa.jwk, kid: 'e' }] }, ALL)
  t.equal(set?.keys.length, 2)
  t.match(findKey(set?.keys ?? [], { keyId: 'e', algorithm: 'ES256' }), { kind: { kty: 'EC' } })
  t.match(findKey(set?.keys ?? [], { keyId: 'e', algorithm: 'RS256' }), { kind: { kty: 'RSA' } })
})

t.test('readJwks() drops a key with an algorithm that is not allowed for the issuer', async (t) => {
  const set = readJwks({ keys: [ec.jwk, { ...rsa.jwk, alg: undefined }] }, new Set(['EdDSA']))
  t.match(set?.dropped, [{ reason: 'algorithm_not_allowed' }, { reason: 'algorithm_not_allowed' }])
})

t.test('readJwks() ignores all keys after the first 100 keys', async (t) => {
  const keys = Array.from({ length: 150 }, (_, index) => ({ ...ec.jwk, kid: String(index) }))
  const set = readJwks({ keys }, ALL)
  t.equal(set?.keys.length, 100)
  t.same(set?.dropped, [{ kid: undefined, reason: 'too_many' }])
})

for (const document of [null, [], 'x', {}, { keys: null }, { keys: {} }, { keys: 'x' }, { Keys: [] }])
  t.test(`readJwks() rejects ${JSON.stringify(document)}`, async (t) => {
    t.equal(readJwks(document, ALL), undefined)
  })

t.test('readJwks() keeps only the public members, kid, alg and use of a key', async (t) => {
  const set = readJwks({ keys: [{ ...ec.jwk, x5c: ['x'], note: 'x', d: undefined }] }, ALL)
  t.same(set?.dropped, [{ kid: 'e', reason: 'private_members' }])
  const good = readJwks({ keys: [{ ...ec.jwk, x5c: ['x'], note: 'x' }] }, ALL)
  t.same(Object.keys(good?.keys[0]?.publicJwk ?? {}), ['kty', 'crv', 'x', 'y', 'kid', 'alg', 'use'])
})

t.test('isRocaModulus() detects the fingerprint and accepts sound keys', async (t) => {
  t.equal(isRocaModulus(rocaModulus()), true)
  for (let round = 0; round < 3; round += 1) {
    const { n } = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ format: 'jwk' })
    t.equal(isRocaModulus(BigInt(`0x${Buffer.from(n ?? '', 'base64url').toString('hex')}`)), false)
  }
})

t.test('findKey() finds a key by kid and rejects algorithms of another key type', async (t) => {
  const plain = { ...aKey('RS256', 'plain').jwk, alg: undefined }
  const keys =
    readJwks({ keys: [ec.jwk, rsa.jwk, aKey('EdDSA', 'o').jwk, JSON.parse(JSON.stringify(plain))] }, ALL)
      ?.keys ?? []
  t.equal(keys.length, 4)
  t.match(findKey(keys, { keyId: 'e', algorithm: 'ES256' }), { kid: 'e' })
  t.match(findKey(keys, { keyId: 'o', algorithm: 'Ed25519' }), { kid: 'o' })
  t.equal(findKey(keys, { keyId: 'e', algorithm: 'RS256' }), 'unfit')
  t.equal(findKey(keys, { keyId: 'e', algorithm: 'ES384' }), 'unfit')
  t.equal(findKey(keys, { keyId: 'r', algorithm: 'PS256' }), 'unfit')
  t.match(findKey(keys, { keyId: 'plain', algorithm: 'PS256' }), { kid: 'plain' })
  t.equal(findKey(keys, { keyId: 'r', algorithm: 'HS256' }), 'unfit')
  for (const keyId of ['x', 'E', 'e ', '', '../e', "e' OR '1'='1", 'constructor', '__proto__'])
    t.equal(findKey(keys, { keyId, algorithm: 'ES256' }), 'unknown')
  t.match(findKey(keys, { keyId: undefined, algorithm: 'ES256' }), { kid: 'e' })
  t.equal(findKey(keys, { keyId: undefined, algorithm: 'RS256' }), 'unfit')
  t.equal(findKey([], { keyId: undefined, algorithm: 'ES256' }), 'unknown')
})
