import { BASE_URL } from '../fixtures/a-gateway.ts'
import { signJws } from '../fixtures/jws.ts'
import { type Row, type RowAnswer, row } from './row.ts'
import { good, type World } from './world.ts'

type Change = (now: number) => Readonly<Record<string, unknown>>

const claims = (ofClass: number, what: string, answer: RowAnswer, change: Change): Row =>
  row(ofClass, what, answer, ({ main, now }) => main.sign(good(change(now))))

/** Creates a row. The claims are text, because JSON.stringify cannot write some values. */
const written = (ofClass: number, what: string, answer: RowAnswer, text: (now: number) => string): Row =>
  row(ofClass, what, answer, ({ main, now }: World) => {
    const { privateKey, jwk } = main.key('ES256')
    const rest = `"iss":"${main.issuer}","aud":"${BASE_URL}"`
    return signJws({ alg: 'ES256', typ: 'at+jwt', kid: jwk['kid'] }, `{${rest},${text(now)}}`, privateKey)
  })

const TYPES = [
  'JWT',
  'jwt',
  undefined,
  '',
  'logout+jwt',
  'dpop+jwt',
  'secevent+jwt',
  'id+jwt',
  'oauth-authz-req+jwt',
  'token-introspection+jwt',
  'client-authentication+jwt',
  'entity-statement+jwt',
  'at+jwt ',
  ' at+jwt',
  'at-jwt',
  'at+jwt+x',
  'application/',
  'text/at+jwt',
  'JWE',
].map((typ) => row(42, `typ ${JSON.stringify(typ)}`, 'wrong_type', ({ main }) => main.sign(good(), { typ })))

const OTHER_TOKENS: readonly Row[] = [
  ...(
    [
      ['an ID token by its at_hash', { at_hash: 'x' }],
      ['an ID token by its c_hash', { c_hash: 'x' }],
      [
        'a logout token by its events',
        { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
      ],
      ['an ID token of Keycloak', { typ: 'ID' }],
      ['a refresh token of Keycloak', { typ: 'Refresh' }],
      ['an offline token of Keycloak', { typ: 'Offline' }],
      ['a logout token of Keycloak', { typ: 'Logout' }],
      ['a token whose typ claim is an object', { typ: {} }],
      ['an ID token of Cognito', { token_use: 'id' }],
    ] as const
  ).map(([what, change]) =>
    row(42, `at an issuer of plain JWTs: ${what}`, 'wrong_type', ({ plain }) =>
      plain.sign(good(change), { typ: 'JWT' }),
    ),
  ),
  row(42, 'no typ, from an issuer whose access tokens have typ JWT', 'wrong_type', ({ plain }) =>
    plain.sign(good(), { typ: undefined }),
  ),
  row(42, 'an ID token, whose audience is its client', 'wrong_audience', ({ plain }) =>
    plain.sign(good({ aud: 'client-1', nonce: 'x' }), { typ: 'JWT' }),
  ),
]

const AUDIENCES = [
  undefined,
  null,
  '',
  [],
  {},
  1,
  true,
  'https://other.test',
  'http://api.tes',
  'http://api.test.evil.test',
  'http://api.test:80',
  'http://api.test/mcp',
  'http://api.test//',
  'http://API.test',
  'https://api.test',
  'http://api.test?x',
  'http://api.test#',
  '*',
  'client-1',
  ['https://other.test'],
  [['http://api.test']],
  [{ aud: 'http://api.test' }],
  'http://api.test https://other.test',
  { 'http://api.test': true },
].map((aud) => claims(43, `aud ${JSON.stringify(aud)}`, 'wrong_audience', () => ({ aud })))

const NOT_DATES: readonly (readonly [what: string, value: (now: number) => unknown])[] = [
  ['text', (now) => String(now + 900)],
  ['a fraction', (now) => now + 0.5],
  ['null', () => null],
  ['true', () => true],
  ['an array', (now) => [now + 900]],
  ['an object', () => ({})],
  ['negative', () => -1],
  ['milliseconds', (now) => (now + 900) * 1_000],
  ['the largest number', () => Number.MAX_VALUE],
  ['a number that is too large', () => 2 ** 53],
]

const DATES: readonly Row[] = [
  ...['exp', 'nbf', 'iat'].flatMap((name) =>
    NOT_DATES.map(([what, value]) =>
      claims(45, `${name} that is ${what}`, 'claims_invalid', (now) => ({ [name]: value(now) })),
    ),
  ),
  claims(45, 'no exp', 'claims_missing', () => ({ exp: undefined })),
  claims(45, 'exp 0', 'expired', () => ({ exp: 0 })),
  claims(45, 'expired an hour ago', 'expired', (now) => ({ exp: now - 3_600 })),
  claims(45, 'expired 61 seconds ago', 'expired', (now) => ({ exp: now - 61 })),
  claims(45, 'valid in an hour', 'not_yet_valid', (now) => ({ nbf: now + 3_600, exp: now + 7_200 })),
  claims(45, 'valid in three minutes', 'not_yet_valid', (now) => ({ nbf: now + 180 })),
  claims(45, 'issued in three minutes', 'not_yet_valid', (now) => ({ iat: now + 180 })),
  written(45, 'exp as 1e400', 'claims_invalid', () => '"exp":1e400'),
  written(45, 'exp as NaN', 'malformed', () => '"exp":NaN'),
  written(45, 'exp as Infinity', 'malformed', () => '"exp":Infinity'),
  written(45, 'exp in hexadecimal', 'malformed', () => '"exp":0xffffffff'),
  written(45, 'exp twice', 'malformed', (now) => `"exp":${now + 900},"exp":${now + 901}`),
  written(45, 'aud twice', 'malformed', (now) => `"exp":${now + 900},"aud":"${BASE_URL}"`),
]

const SCOPES: readonly Row[] = [
  ...[
    undefined,
    '',
    'courses',
    'courses:readwrite',
    'courses:rea',
    'COURSES:READ',
    'courses:*',
    '*',
    'courses:read,posts:read',
    'xcourses:read',
    [],
  ].map((scope) => claims(52, `scope ${JSON.stringify(scope)}`, 403, () => ({ scope }))),
  ...[
    null,
    1,
    true,
    {},
    { 'courses:read': true },
    'a  courses:read',
    ' courses:read',
    'courses:read ',
    'a\tcourses:read',
    'a\ncourses:read',
    'a"courses:read',
    ['a courses:read'],
    [['courses:read']],
    ['courses:read', 1],
    [''],
  ].map((scope) => claims(52, `scope ${JSON.stringify(scope)}`, 'claims_invalid', () => ({ scope }))),
]

const THUMBPRINT = 'A'.repeat(43)
const BOUND: readonly Row[] = [
  ...(
    [
      [{ jkt: THUMBPRINT }, 'proof_missing'],
      [{ 'x5t#S256': THUMBPRINT }, 'certificate_missing'],
      [{ jkt: 'x' }, 'sender_constrained'],
      [{}, 'sender_constrained'],
      [null, 'sender_constrained'],
      [[], 'sender_constrained'],
      ['x', 'sender_constrained'],
      [{ jwk: {} }, 'sender_constrained'],
      [{ jkt: THUMBPRINT, kid: 'x' }, 'sender_constrained'],
    ] as const
  ).map(([cnf, reason]) =>
    claims(48, `cnf ${JSON.stringify(cnf)}, sent as a Bearer token`, reason, () => ({ cnf })),
  ),
]

const IDENTITY: readonly Row[] = [
  ...['root\r\nx-auth-subject: admin', '', ' root', 'rööt', null, 1, {}, ['root'], 'x'.repeat(2_000)].map(
    (sub) => claims(54, `sub ${JSON.stringify(sub).slice(0, 40)}`, 'claims_invalid', () => ({ sub })),
  ),
  claims(54, 'client_id with a line break', 'claims_invalid', () => ({ client_id: 'a\nb' })),
  claims(54, 'client_id that is an object, and azp', 'claims_invalid', () => ({
    client_id: {},
    azp: 'client-1',
  })),
]

/** Classes 42, 43, 45, 48, 52 and 54: tokens with a valid signature and invalid claims. */
export const CLAIM_ROWS: readonly Row[] = [
  ...TYPES,
  ...OTHER_TOKENS,
  ...AUDIENCES,
  ...DATES,
  ...SCOPES,
  ...BOUND,
  ...IDENTITY,
]
