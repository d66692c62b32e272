import { publicJwk } from '../fixtures/jwk.ts'
import { macJws, signJws } from '../fixtures/jws.ts'
import { type Row, row } from './row.ts'
import { good, type World } from './world.ts'

type Header = Readonly<Record<string, unknown>>

/** Signs claims of the main issuer with a key that belongs to no issuer. */
const forged = (world: World, header: Header = {}, claims: Header = {}) => {
  const { main, forger, now } = world
  return signJws(
    { alg: 'ES256', typ: 'at+jwt', kid: main.key('ES256').jwk['kid'], ...header },
    good({ iss: main.issuer, sub: 'root', client_id: 'client-1', iat: now, exp: now + 900, ...claims }),
    forger.privateKey,
    'ES256',
  )
}

const certificate = 'MIIBszCCAVmgAwIBAgIUAAAAAAAAAAAAAAAAAAAAAAAAAAAwCgYIKoZIzj0EAwI='

const EMBEDDED: readonly (readonly [what: string, header: (world: World) => Header])[] = [
  ['jwk', ({ forger }) => ({ jwk: publicJwk(forger.privateKey) })],
  ['jwk with another kid', ({ forger }) => ({ jwk: { ...publicJwk(forger.privateKey), kid: 'key-1' } })],
  ['jku', ({ trap }) => ({ jku: `${trap}/keys` })],
  ['x5u', ({ trap }) => ({ x5u: `${trap}/certificate` })],
  ['x5c', () => ({ x5c: [certificate] })],
  ['jku, x5u and jwk', ({ trap, forger }) => ({ jku: trap, x5u: trap, jwk: publicJwk(forger.privateKey) })],
  ['jku below the issuer URL', ({ main, trap }) => ({ jku: `${main.issuer}@${new URL(trap).host}/` })],
]

const INJECTED = EMBEDDED.flatMap(([what, header]) => [
  row(41, `a forger’s key in the header: ${what}, with the kid of an issuer key`, 'bad_signature', (world) =>
    forged(world, header(world)),
  ),
  row(41, `a forger’s key in the header: ${what}, with its own kid`, 'unknown_key', (world) =>
    forged(world, { ...header(world), kid: 'key-of-a-forger' }),
  ),
  row(41, `a forger’s key in the header: ${what}, without a kid`, 'bad_signature', (world) =>
    forged(world, { ...header(world), kid: undefined }),
  ),
])

const NAMES = [
  '',
  '../../../../dev/null',
  "x' UNION SELECT 'key",
  '/etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'key-1 ',
  'KEY-1',
  'key-1\0',
  '0',
  'x'.repeat(3_000),
].map((kid) =>
  row(41, `kid ${JSON.stringify(kid).slice(0, 40)}`, 'unknown_key', (world) => forged(world, { kid })),
)

const KIDS = [null, 1, true, ['key-1'], { kid: 'key-1' }].map((kid) =>
  row(41, `kid ${JSON.stringify(kid)}, not a string`, 'malformed', (world) => forged(world, { kid })),
)

const ADDRESSES: readonly Row[] = [
  row(41, 'kid that is a URL', 'unknown_key', (world) => forged(world, { kid: `${world.trap}/key` })),
  row(41, 'iss that is the URL of the forger', 'wrong_issuer', (world) =>
    forged(world, {}, { iss: world.trap }),
  ),
  row(41, 'claims that contain key URLs', 'bad_signature', (world) =>
    forged(
      world,
      {},
      { jku: world.trap, jwks_uri: world.trap, _claim_sources: { src1: { endpoint: world.trap } } },
    ),
  ),
]

const issuerSpelt = (what: string, spell: (issuer: string) => unknown) =>
  row(44, `iss of the main issuer ${what}, with a valid signature`, 'wrong_issuer', ({ main }) =>
    main.sign(good({ iss: spell(main.issuer) })),
  )

const CROSSED: readonly Row[] = [
  row(44, 'signed by another issuer, with iss of the main issuer', 'bad_signature', ({ main, other }) =>
    other.sign(good({ iss: main.issuer })),
  ),
  row(44, 'signed by the main issuer, with iss of another issuer', 'bad_signature', ({ main, other }) =>
    main.sign(good({ iss: other.issuer })),
  ),
  row(
    44,
    'iss of another issuer, with a kid that only the main issuer has',
    'unknown_key',
    ({ main, other }) => main.sign(good({ iss: other.issuer }), { kid: 'key-9' }),
  ),
  row(44, 'iss of an issuer that supports introspection only', 'inactive', ({ main }) =>
    main.sign(good({ iss: 'http://api.test' })),
  ),
  row(44, 'iss of an unknown issuer', 'wrong_issuer', ({ main }) =>
    main.sign(good({ iss: 'https://stranger.test' })),
  ),
  row(44, 'without iss', 'wrong_issuer', ({ main }) => main.sign(good({ iss: undefined }))),
  issuerSpelt('with a slash', (issuer) => `${issuer}/`),
  issuerSpelt('in upper case', (issuer) => issuer.toUpperCase()),
  issuerSpelt('with a space', (issuer) => `${issuer} `),
  issuerSpelt('with a fragment', (issuer) => `${issuer}#`),
  issuerSpelt('with a query', (issuer) => `${issuer}?`),
  issuerSpelt('as https', (issuer) => issuer.replace('http:', 'https:')),
  issuerSpelt('by another name of its host', (issuer) => issuer.replace('127.0.0.1', 'localhost')),
  issuerSpelt('in an array', (issuer) => [issuer]),
  issuerSpelt('in an object', (issuer) => ({ issuer })),
  issuerSpelt('with an unknown issuer after a space', (issuer) => `${issuer} https://stranger.test`),
  issuerSpelt('as null', () => null),
  issuerSpelt('as a number', () => 1),
  issuerSpelt('as an empty string', () => ''),
  issuerSpelt('with user information', (issuer) => issuer.replace('//', '//main@')),
]

const UNUSABLE: readonly Row[] = [
  ...(['weak', 'twice', 'encryption', 'leaked'] as const).map((name) =>
    row(
      47,
      `signed with a published key that the gateway must not use: ${name}`,
      'unknown_key',
      ({ main, unusable, now }) => {
        const { privateKey } = unusable[name]
        const alg = name === 'weak' ? 'RS256' : 'ES256'
        const claims = good({ iss: main.issuer, iat: now, exp: now + 900 })
        return signJws({ alg, typ: 'at+jwt', kid: name }, claims, privateKey)
      },
    ),
  ),
  row(
    47,
    'HS256 with a secret that the issuer published',
    'wrong_algorithm',
    ({ main, publishedSecret, now }) =>
      macJws(
        { alg: 'HS256', typ: 'at+jwt', kid: 'secret' },
        good({ iss: main.issuer, iat: now, exp: now + 900 }),
        publishedSecret,
      ),
  ),
]

/** Classes 41, 44 and 47: the key belongs to another issuer or to no issuer, or the gateway must not use the key. */
export const KEY_ROWS: readonly Row[] = [
  ...INJECTED,
  ...NAMES,
  ...KIDS,
  ...ADDRESSES,
  ...CROSSED,
  ...UNUSABLE,
]
