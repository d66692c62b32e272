import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { macJws, part, signJws } from '../fixtures/jws.ts'
import { type Row, row } from './row.ts'
import { good, type World } from './world.ts'

const claimsOf = ({ main, now }: World) =>
  good({ iss: main.issuer, sub: 'user-1', client_id: 'client-1', iat: now, exp: now + 900 })

const resigned = (world: World, alg: string, change: (signature: Buffer, input: string) => Buffer) => {
  const token = world.main.sign(good(), { alg })
  const input = token.slice(0, token.lastIndexOf('.'))
  const signature = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url')
  return `${input}.${change(signature, input).toString('base64url')}`
}

const NONE = ['none', 'None', 'NONE', 'nOnE', 'none ', ''].flatMap((alg) => [
  row(39, `alg "${alg}" without a signature`, 'malformed', (world) => {
    return `${part({ alg, typ: 'at+jwt' })}.${part(claimsOf(world))}.`
  }),
  row(39, `alg "${alg}" with a signature of one byte`, 'wrong_algorithm', (world) => {
    return `${part({ alg, typ: 'at+jwt', kid: 'key-1' })}.${part(claimsOf(world))}.AA`
  }),
  row(39, `alg "${alg}" with the ES256 signature of another header`, 'wrong_algorithm', (world) => {
    const [, claims, signature] = world.main.sign(good()).split('.')
    return `${part({ alg, typ: 'at+jwt', kid: 'key-1' })}.${claims}.${signature}`
  }),
])

const BLANK = ['HS256', 'HS384', 'HS512'].map((alg) =>
  row(39, `${alg} with an empty secret`, 'wrong_algorithm', (world) =>
    macJws({ alg, typ: 'at+jwt', kid: 'key-1' }, claimsOf(world), ''),
  ),
)

const BROKEN = ['ES256', 'ES384', 'ES512', 'RS256', 'PS256', 'EdDSA'].flatMap((alg) => [
  row(39, `${alg} with a signature of zeros`, 'bad_signature', (world) =>
    resigned(world, alg, (signature) => Buffer.alloc(signature.length)),
  ),
  row(39, `${alg} with a signature of ones`, 'bad_signature', (world) =>
    resigned(world, alg, (signature) => Buffer.alloc(signature.length, 0xff)),
  ),
  row(39, `${alg} with a signature one byte too short`, 'bad_signature', (world) =>
    resigned(world, alg, (signature) => signature.subarray(0, -1)),
  ),
  row(39, `${alg} with a signature one byte too long`, 'bad_signature', (world) =>
    resigned(world, alg, (signature) => Buffer.concat([signature, Buffer.from([0])])),
  ),
  row(39, `${alg} with one bit of the signature inverted`, 'bad_signature', (world) =>
    resigned(world, alg, (signature) => {
      const other = Buffer.from(signature)
      other[10] = (other[10] ?? 0) ^ 1
      return other
    }),
  ),
  row(39, `${alg} with the signature of another token`, 'bad_signature', (world) => {
    const token = world.main.sign(good({ sub: 'user-2' }), { alg })
    return resigned(world, alg, () => Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url'))
  }),
])

const OTHER_FORMS = [
  row(39, 'ES256 with r and s exchanged', 'bad_signature', (world) =>
    resigned(world, 'ES256', (signature) =>
      Buffer.concat([signature.subarray(32), signature.subarray(0, 32)]),
    ),
  ),
  row(39, 'ES256 with a signature in DER', 'bad_signature', (world) =>
    resigned(world, 'ES256', (_, input) =>
      sign('sha256', Buffer.from(input), world.main.key('ES256').privateKey),
    ),
  ),
  row(39, 'ES256 signed over SHA-384', 'bad_signature', (world) =>
    resigned(world, 'ES256', (_, input) =>
      sign('sha384', Buffer.from(input), {
        key: world.main.key('ES256').privateKey,
        dsaEncoding: 'ieee-p1363',
      }),
    ),
  ),
  row(
    39,
    'the claims of one token with the signature of another, both in the cache',
    'bad_signature',
    (world) => {
      const [header, , signature] = world.main.sign(good()).split('.')
      const [, claims] = world.main.sign(good({ sub: 'root' })).split('.')
      return `${header}.${claims}.${signature}`
    },
  ),
]

/** Encodings of a public key. Attackers know all of these encodings. */
const SECRETS: readonly (readonly [what: string, of: (key: KeyObject) => Buffer | string])[] = [
  ['PEM', (key) => key.export({ type: 'spki', format: 'pem' })],
  ['PEM without its last line break', (key) => String(key.export({ type: 'spki', format: 'pem' })).trim()],
  ['DER', (key) => key.export({ type: 'spki', format: 'der' })],
  ['JWK', (key) => JSON.stringify(key.export({ format: 'jwk' }))],
]

const CONFUSED = ['RS256', 'ES256', 'EdDSA'].flatMap((of) =>
  SECRETS.flatMap(([what, secretOf]) =>
    ['HS256', 'HS512'].map((alg) =>
      row(40, `${alg} with the issuer’s ${of} key as the secret, as ${what}`, 'wrong_algorithm', (world) => {
        const { privateKey, jwk } = world.main.key(of)
        const header = { alg, typ: 'at+jwt', kid: jwk['kid'] }
        return macJws(header, claimsOf(world), secretOf(createPublicKey(privateKey)))
      }),
    ),
  ),
)

const kidOf = ({ main }: World, alg: string) => main.key(alg).jwk['kid']

const BORROWED: readonly Row[] = [
  ['RS256', 'ES256'],
  ['ES256', 'RS256'],
  ['ES384', 'ES256'],
  ['ES256', 'EdDSA'],
  ['EdDSA', 'ES256'],
  ['PS256', 'RS256'],
  ['RS256', 'PS256'],
  ['RS512', 'RS256'],
].map(([alg = '', of = '']) =>
  row(40, `${alg} with the kid of a key for ${of}`, 'unknown_key', (world) =>
    world.main.sign(good(), { alg, kid: kidOf(world, of) }),
  ),
)

const UNKNOWN_NAMES = [
  'es256',
  'ES256 ',
  'ES256K',
  'Ed448',
  'RS1',
  'HS1',
  'dir',
  'A256KW',
  'RSA-OAEP',
  'ECDH-ES',
  'ML-DSA-44',
  '__proto__',
  'constructor',
].map((alg) =>
  row(40, `alg "${alg}" with a valid ES256 signature`, 'wrong_algorithm', (world) => {
    const { privateKey, jwk } = world.main.key('ES256')
    return signJws({ alg, typ: 'at+jwt', kid: jwk['kid'] }, claimsOf(world), privateKey, 'ES256')
  }),
)

const NOT_ALLOWED = ['ES384', 'RS256', 'EdDSA'].map((alg) =>
  row(
    40,
    `${alg}, with a valid signature, from an issuer that may use ES256 only`,
    'wrong_algorithm',
    ({ other }) => other.sign(good(), { alg }),
  ),
)

/** Classes 39 and 40: missing signatures, and keys that are used with the wrong algorithm. */
export const SIGNATURE_ROWS: readonly Row[] = [
  ...NONE,
  ...BLANK,
  ...BROKEN,
  ...OTHER_FORMS,
  ...CONFUSED,
  ...BORROWED,
  ...UNKNOWN_NAMES,
  ...NOT_ALLOWED,
]
