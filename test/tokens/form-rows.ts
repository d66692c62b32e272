import { part, signJws } from '../fixtures/jws.ts'
import { type Row, type RowAnswer, row } from './row.ts'
import { good, type World } from './world.ts'

type Spell = (token: string) => string

const parts = (token: string) => token.split('.') as [string, string, string]
const spelt = (ofClass: number, what: string, answer: RowAnswer, spell: Spell): Row =>
  row(ofClass, what, answer, ({ main }) => spell(main.sign(good())))

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/**
 * Returns another letter with the same leading bits. A lenient base64url decoder returns the same bytes for both
 * letters.
 */
const nextLetter = (text: string, at: number) => {
  const place = text.length + at
  return (
    text.slice(0, place) + ALPHABET[(ALPHABET.indexOf(text[place] ?? '') + 1) % 64] + text.slice(place + 1)
  )
}

const SPELLINGS: readonly Row[] = [
  spelt(46, 'padding at the end', 'malformed', (token) => `${token}==`),
  spelt(46, 'padding on the header', 'malformed', (token) => token.replace('.', '=.')),
  spelt(
    46,
    'padding on the claims',
    'malformed',
    (token) => `${parts(token).slice(0, 2).join('.')}=.${parts(token)[2]}`,
  ),
  spelt(46, 'other trailing bits in the signature', 'malformed', (token) => nextLetter(token, -1)),
  spelt(46, 'a space inside', 'malformed', (token) => token.replace('.', ' .')),
  spelt(46, 'a tab at the end', 'malformed', (token) => `${token}\t`.replace('\t', '\tx')),
  spelt(46, 'percent-encoding', 'malformed', (token) => token.replaceAll('.', '%2e')),
  spelt(46, 'quotation marks around the token', 'malformed', (token) => `"${token}"`),
  spelt(46, 'the alphabet of base64', 'malformed', (token) => `${token.slice(0, -3)}+/+`),
  spelt(46, 'a dot at the end', 'malformed', (token) => `${token}.`),
  spelt(46, 'a dot in front', 'malformed', (token) => `.${token}`),
  spelt(46, 'two dots in the middle', 'malformed', (token) => token.replace('.', '..')),
  spelt(46, 'its last letter missing', 'any_401', (token) => token.slice(0, -1)),
  spelt(46, 'its last ten letters missing', 'any_401', (token) => token.slice(0, -10)),
  spelt(46, 'its second half missing', 'any_401', (token) => token.slice(0, token.length / 2)),
  spelt(46, 'its signature missing', 'malformed', (token) => token.slice(0, token.lastIndexOf('.'))),
  spelt(46, 'its header missing', 'any_401', (token) => token.slice(token.indexOf('.') + 1)),
  spelt(46, 'one letter more', 'any_401', (token) => `${token}A`),
  spelt(46, 'four letters more', 'bad_signature', (token) => `${token}AAAA`),
  spelt(46, 'the token twice, without a separator', 'malformed', (token) => token + token),
  spelt(46, 'in upper case', 'any_401', (token) => token.toUpperCase()),
  spelt(46, 'in reverse order', 'any_401', (token) => [...token].reverse().join('')),
  spelt(46, 'base64url of the whole token', 'any_401', (token) => part(token)),
  spelt(46, 'header and claims exchanged', 'malformed', (token) => {
    const [header, claims, signature] = parts(token)
    return `${claims}.${header}.${signature}`
  }),
  ...Array.from({ length: 24 }, (_, index) =>
    spelt(46, `one letter changed, the ${index + 1}th of 24 places`, 'any_401', (token) =>
      nextLetter(token, -Math.floor(((index + 0.5) * token.length) / 24)),
    ),
  ),
]

const signed = (
  what: string,
  answer: RowAnswer,
  header: Readonly<Record<string, unknown>> | string,
  text?: string,
) =>
  row(53, what, answer, (world: World) => {
    const { privateKey, jwk } = world.main.key('ES256')
    const { main, now } = world
    const full =
      typeof header === 'string' ? header : { alg: 'ES256', typ: 'at+jwt', kid: jwk['kid'], ...header }
    return signJws(full, text ?? good({ iss: main.issuer, iat: now, exp: now + 900 }), privateKey, 'ES256')
  })

const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`

const SHAPES: readonly Row[] = [
  row(
    53,
    'a JWE',
    'malformed',
    () => `${part({ alg: 'dir', enc: 'A256GCM' })}..${part('iv')}.${part('text')}.${part('tag')}`,
  ),
  row(53, 'a JWE with an encrypted key', 'malformed', () =>
    [part({ alg: 'RSA-OAEP', enc: 'A256GCM' }), 'AAAA', 'AAAA', 'AAAA', 'AAAA'].join('.'),
  ),
  row(53, 'a PBES2 JWE that requires a billion iterations', 'malformed', () =>
    [part({ alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2c: 1e9, p2s: 'AA' }), 'AA', 'AA', 'AA', 'AA'].join(
      '.',
    ),
  ),
  row(53, 'the JSON serialization', 'malformed', () => JSON.stringify({ payload: 'AA', signatures: [] })),
  signed('zip in the header', 'malformed', { zip: 'DEF' }),
  signed('enc in the header', 'malformed', { enc: 'A256GCM' }),
  signed('crit in the header', 'malformed', { crit: ['exp'] }),
  signed('crit and the header parameter that crit names', 'malformed', { crit: ['x'], x: 1 }),
  signed('crit that is empty', 'malformed', { crit: [] }),
  signed('b64: false', 'malformed', { b64: false, crit: ['b64'] }),
  signed('b64: true', 'malformed', { b64: true }),
  signed('a header with alg twice', 'malformed', '{"alg":"none","alg":"ES256","kid":"key-9"}'),
  signed(
    'a header with __proto__',
    'malformed',
    '{"alg":"ES256","kid":"key-9","__proto__":{"typ":"at+jwt"}}',
  ),
  signed('a header that is an array', 'any_401', '["ES256"]'),
  signed('a header that is text', 'any_401', '"ES256"'),
  signed('a header 20 levels deep', 'malformed', { deep: JSON.parse(nested(19)) }),
  signed('claims 20 levels deep', 'malformed', {}, nested(19)),
  signed('claims 2,500 levels deep', 'malformed', {}, nested(2_500)),
  signed('claims with __proto__', 'malformed', {}, '{"__proto__":{"iss":"x"}}'),
  signed('claims that are an array', 'malformed', {}, '[]'),
  signed('claims that are another JWT', 'malformed', { cty: 'JWT' }, `${part({ alg: 'none' })}.${part({})}.`),
  signed('claims that are not JSON', 'malformed', {}, 'iss=x'),
  signed('empty claims', 'malformed', {}, ''),
  signed('claims with a byte order mark', 'malformed', {}, '\ufeff{}'),
  signed('claims that are null', 'malformed', {}, 'null'),
  signed('claims that are an empty object', 'wrong_issuer', {}, '{}'),
  row(53, '8,000 dots', 'malformed', () => '.'.repeat(8_000)),
  row(53, 'a header and 8,000 dots', 'malformed', () => `eyJ${'.'.repeat(8_000)}`),
  row(53, 'an oversized token', 'malformed', ({ main }) => main.sign(good({ padding: 'x'.repeat(9_000) }))),
  row(53, 'oversized headers', 431, () => '.'.repeat(100_000)),
  row(53, 'an opaque token without an issuer', 'inactive', () => 'opaque-and-unknown'),
  row(53, 'two dots and no JSON', 'inactive', () => 'a.b.c'),
]

const withHeaders = (
  what: string,
  answer: RowAnswer,
  headers: (token: string) => readonly string[],
  target?: string,
) =>
  row(
    51,
    what,
    answer,
    ({ main }) => main.sign(good()),
    (token) => ({
      headers: headers(token),
      ...(target === undefined ? {} : { target: target + token }),
    }),
  )

const PLACES: readonly Row[] = [
  withHeaders('in the query', 400, () => [], '/api/courses?access_token='),
  withHeaders(
    'in the query and in the header',
    400,
    (token) => [`Authorization: Bearer ${token}`],
    '/api/courses?access_token=',
  ),
  withHeaders('in the query under an encoded name', 400, () => [], '/api/courses?%61ccess_token='),
  withHeaders('in two headers', 400, (token) => [
    `Authorization: Bearer ${token}`,
    `Authorization: Bearer ${token}`,
  ]),
  withHeaders('in two headers, one of them forged', 400, (token) => [
    `Authorization: Bearer ${token}`,
    'authorization: Bearer x',
  ]),
  withHeaders('after a comma', 'malformed', (token) => [`Authorization: Bearer x, Bearer ${token}`]),
  withHeaders('before a comma', 'malformed', (token) => [`Authorization: Bearer ${token},`]),
  withHeaders('twice in one header', 'malformed', (token) => [`Authorization: Bearer ${token} ${token}`]),
  withHeaders('after a colon', 'unsupported_scheme', (token) => [`Authorization: Bearer: ${token}`]),
  withHeaders('without a scheme', 'unsupported_scheme', (token) => [`Authorization: ${token}`]),
  withHeaders('with the scheme Token', 'unsupported_scheme', (token) => [`Authorization: Token ${token}`]),
  withHeaders('with the scheme Basic', 'unsupported_scheme', (token) => [`Authorization: Basic ${token}`]),
  withHeaders('as a parameter', 'malformed', (token) => [`Authorization: Bearer token="${token}"`]),
  withHeaders('a scheme without a token', 'malformed', () => ['Authorization: Bearer']),
  withHeaders('an empty header', 'unsupported_scheme', () => ['Authorization: ']),
]

/** Classes 46, 51 and 53: a token has one valid encoding, location and form. */
export const FORM_ROWS: readonly Row[] = [...SPELLINGS, ...SHAPES, ...PLACES]
