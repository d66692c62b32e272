import type { ProofFault } from '../../oauth/dpop/check-proof.ts'
import type { TokenFault } from '../../policy-engine/decide/rejection.ts'
import { aProof, type ProofKey } from '../fixtures/dpop-proof.ts'
import { macJws, part } from '../fixtures/jws.ts'

/** A bound token. Also contains tokens and keys that an attacker or a faulty client can use. */
export type ProofWorld = {
  readonly url: string
  readonly key: ProofKey
  readonly other: ProofKey
  readonly rsa: ProofKey
  readonly token: string
  /** Another token with the same binding as `token`. */
  readonly second: string
  readonly plain: string
  /** A token that is bound to a certificate. */
  readonly certified: string
  readonly now: number
}

export type ProofRow = {
  readonly what: string
  readonly answer: ProofFault | TokenFault['reason'] | 'two_credentials'
  readonly send: (world: ProofWorld) => readonly string[]
  readonly target?: string
  readonly method?: string
}

type Change = Readonly<Record<string, unknown>>

/** Creates a row with one change to a valid proof. */
function changed(
  what: string,
  answer: ProofRow['answer'],
  change: (world: ProofWorld) => {
    readonly header?: Change
    readonly claims?: Change
    readonly key?: ProofKey
    readonly as?: string
    readonly token?: string
    readonly url?: string
    readonly method?: string
  },
): ProofRow {
  return {
    what,
    answer,
    send: (world) => [
      `Authorization: DPoP ${world.token}`,
      `DPoP: ${aProof({ key: world.key, url: world.url, token: world.token, ...change(world) })}`,
    ],
  }
}

/** Creates a row that sends another value in place of the proof. */
function instead(what: string, answer: ProofRow['answer'], text: (world: ProofWorld) => string): ProofRow {
  return {
    what,
    answer,
    send: (world) => [`Authorization: DPoP ${world.token}`, `DPoP: ${text(world)}`],
  }
}

const good = ({ key, url, token }: ProofWorld): string => aProof({ key, url, token })
const claim = (what: string, answer: ProofFault, claims: Change): ProofRow =>
  changed(what, answer, () => ({ claims }))
const header = (what: string, answer: ProofFault, members: Change): ProofRow =>
  changed(what, answer, () => ({ header: members }))
const address = (what: string, url: (base: string) => string): ProofRow =>
  changed(what, 'wrong_address', (world) => ({ url: url(world.url) }))

const FORM: readonly ProofRow[] = [
  { what: 'no proof', answer: 'missing', send: ({ token }) => [`Authorization: DPoP ${token}`] },
  instead('an empty proof', 'malformed', () => ''),
  instead('plain text', 'malformed', () => 'proof'),
  instead('4,000 dots', 'malformed', () => '.'.repeat(4_000)),
  instead('more than 8 KiB', 'malformed', (world) => `${good(world)}${'A'.repeat(8_192)}`),
  instead('four parts', 'malformed', (world) => `${good(world)}.AAAA`),
  instead('no signature', 'malformed', (world) => `${good(world).split('.').slice(0, 2).join('.')}.`),
  instead('base64 padding', 'malformed', (world) => `${good(world)}==`),
  instead(
    'a header that is not JSON',
    'malformed',
    (world) => `${part('{')}.${good(world).split('.')[1]}.AAAA`,
  ),
  instead('an array as claims', 'malformed', (world) => `${good(world).split('.')[0]}.${part([])}.AAAA`),
  instead('two proofs in one line', 'repeated', (world) => `${good(world)}, ${good(world)}`),
  {
    what: 'two valid DPoP lines',
    answer: 'repeated',
    send: (world) => [`Authorization: DPoP ${world.token}`, `DPoP: ${good(world)}`, `dpop: ${good(world)}`],
  },
  {
    what: 'the same proof twice',
    answer: 'repeated',
    send: (world) => {
      const proof = good(world)
      return [`Authorization: DPoP ${world.token}`, `DPoP: ${proof}`, `DPoP: ${proof}`]
    },
  },
  header('crit', 'malformed', { crit: ['exp'] }),
  header('b64', 'malformed', { b64: false }),
  header('no typ', 'wrong_type', { typ: undefined }),
  header('typ JWT', 'wrong_type', { typ: 'JWT' }),
  header('typ at+jwt', 'wrong_type', { typ: 'at+jwt' }),
  header('typ as a number', 'wrong_type', { typ: 1 }),
  instead('the access token as its own proof', 'wrong_type', ({ token }) => token),
]

const SIGNATURE: readonly ProofRow[] = [
  header('alg none', 'wrong_algorithm', { alg: 'none' }),
  header('alg HS256', 'wrong_algorithm', { alg: 'HS256' }),
  instead('HS256 with the public key as secret', 'wrong_algorithm', ({ key, token, url, now }) =>
    macJws(
      { typ: 'dpop+jwt', alg: 'HS256', jwk: key.jwk },
      { jti: 'a', htm: 'GET', htu: url, iat: now, ath: token },
      JSON.stringify(key.jwk),
    ),
  ),
  header('alg RS1', 'wrong_algorithm', { alg: 'RS1' }),
  header('alg as a number', 'malformed', { alg: 1 }),
  changed('RS256 with an EC key', 'bad_key', () => ({ header: { alg: 'RS256' } })),
  changed('ES384 with a P-256 key', 'bad_key', () => ({ header: { alg: 'ES384' } })),
  changed('a jwk for another algorithm', 'bad_key', ({ rsa }) => ({
    key: rsa,
    header: { jwk: { ...rsa.jwk, alg: 'PS256' } },
  })),
  changed('signed with another key', 'bad_signature', ({ key, other }) => ({
    key: other,
    header: { jwk: key.jwk },
  })),
  changed('the jwk of another key', 'bad_signature', ({ other }) => ({
    header: { jwk: other.jwk },
  })),
  changed('jwk and signature of another key', 'wrong_key', ({ other }) => ({ key: other })),
  changed('jwk and signature of an RSA key', 'wrong_key', ({ rsa }) => ({ key: rsa })),
  instead('one inverted bit in the signature', 'bad_signature', (world) => {
    const proof = good(world)
    const bytes = Buffer.from(proof.slice(proof.lastIndexOf('.') + 1), 'base64url')
    bytes[5] = (bytes[5] ?? 0) ^ 1
    return `${proof.slice(0, proof.lastIndexOf('.'))}.${bytes.toString('base64url')}`
  }),
  instead('claims of another proof', 'bad_signature', (world) => {
    const [head, , signature] = good(world).split('.')
    return `${head}.${good(world).split('.')[1]}.${signature}`
  }),
  instead('a signature whose bytes are all zero', 'bad_signature', (world) =>
    good(world).replace(/\.[^.]*$/, `.${Buffer.alloc(64).toString('base64url')}`),
  ),
  header('no jwk', 'bad_key', { jwk: undefined }),
  header('jwk as text', 'bad_key', { jwk: 'key' }),
  header('jwk as an array', 'bad_key', { jwk: [] }),
  header('an empty jwk', 'bad_key', { jwk: {} }),
  header('a symmetric jwk', 'bad_key', { jwk: { kty: 'oct', k: 'AAAA' } }),
  changed('a jwk with the private key', 'bad_key', ({ key }) => ({
    header: { jwk: key.privateKey.export({ format: 'jwk' }) },
  })),
  changed('a jwk with k', 'bad_key', ({ key }) => ({ header: { jwk: { ...key.jwk, k: 'AAAA' } } })),
  changed('a point that is not on the curve', 'bad_key', ({ key }) => ({
    header: { jwk: { ...key.jwk, x: Buffer.alloc(32, 1).toString('base64url') } },
  })),
  changed('a key for encryption', 'bad_key', ({ key }) => ({ header: { jwk: { ...key.jwk, use: 'enc' } } })),
  changed('kid in place of jwk', 'bad_key', () => ({ header: { jwk: undefined, kid: 'key-1' } })),
  changed('jku in place of jwk', 'bad_key', () => ({
    header: { jwk: undefined, jku: 'http://127.0.0.1:9/keys' },
  })),
]

const CLAIMS: readonly ProofRow[] = [
  claim('no jti', 'bad_id', { jti: undefined }),
  claim('an empty jti', 'bad_id', { jti: '' }),
  claim('jti as a number', 'bad_id', { jti: 7 }),
  claim('a jti of 257 characters', 'bad_id', { jti: 'a'.repeat(257) }),
  claim('no htm', 'wrong_method', { htm: undefined }),
  claim('htm POST', 'wrong_method', { htm: 'POST' }),
  claim('htm in lower case', 'wrong_method', { htm: 'get' }),
  claim('htm as an array', 'wrong_method', { htm: ['GET'] }),
  claim('no htu', 'wrong_address', { htu: undefined }),
  claim('htu as a number', 'wrong_address', { htu: 7 }),
  claim('htu is a path', 'wrong_address', { htu: '/api/courses' }),
  address('another path', (url) => `${url}/1`),
  address('a trailing slash', (url) => `${url}/`),
  address('an uppercase path', (url) => url.replace('courses', 'COURSES')),
  address('dot segments that resolve to the path', (url) => url.replace('/courses', '/x/../courses')),
  address('two slashes', (url) => url.replace('/api/', '//api/')),
  address('another host', (url) => url.replace('api.test', 'evil.test')),
  address('the host of the Host header', (url) => url.replace('api.test', 'spoofed.test')),
  address('another port', (url) => url.replace('api.test', 'api.test:8081')),
  address('another scheme', (url) => url.replace('http:', 'https:')),
  address('user information', (url) => url.replace('//', '//user@')),
  address('a host with the expected host as prefix', (url) => url.replace('api.test', 'api.test.evil.test')),
  claim('no iat', 'not_recent', { iat: undefined }),
  claim('iat as text', 'not_recent', { iat: 'now' }),
  claim('iat in milliseconds', 'not_recent', { iat: Date.now() }),
  claim('iat negative', 'not_recent', { iat: -1 }),
  changed('created two minutes ago', 'not_recent', ({ now }) => ({ claims: { iat: now - 120 } })),
  changed('created two minutes in the future', 'not_recent', ({ now }) => ({ claims: { iat: now + 120 } })),
  claim('exp is the current second', 'expired', { exp: Math.floor(Date.now() / 1_000) }),
  claim('exp as text', 'expired', { exp: 'tomorrow' }),
  changed('nbf in the future', 'expired', ({ now }) => ({ claims: { nbf: now + 30 } })),
  claim('nbf as text', 'expired', { nbf: 'now' }),
  claim('no ath', 'wrong_token', { ath: undefined }),
  claim('ath as a number', 'wrong_token', { ath: 1 }),
  changed('ath of another token of the same key', 'wrong_token', ({ second }) => ({ token: second })),
  changed('ath is the token', 'wrong_token', ({ token }) => ({ claims: { ath: token } })),
]

const SCHEME: readonly ProofRow[] = [
  {
    what: 'a bound token as a Bearer token',
    answer: 'proof_missing',
    send: ({ token }) => [`Authorization: Bearer ${token}`],
  },
  {
    what: 'a bound token as a Bearer token, with a valid proof',
    answer: 'proof_missing',
    send: (world) => [`Authorization: Bearer ${world.token}`, `DPoP: ${good(world)}`],
  },
  {
    what: 'an unbound token with the DPoP scheme and a valid proof',
    answer: 'not_bound',
    send: ({ key, url, plain }) => [
      `Authorization: DPoP ${plain}`,
      `DPoP: ${aProof({ key, url, token: plain })}`,
    ],
  },
  {
    what: 'an unbound token with the DPoP scheme and without a proof',
    answer: 'missing',
    send: ({ plain }) => [`Authorization: DPoP ${plain}`],
  },
  {
    what: 'a token that is bound to a certificate, with a valid proof',
    answer: 'not_bound',
    send: ({ key, url, certified }) => [
      `Authorization: DPoP ${certified}`,
      `DPoP: ${aProof({ key, url, token: certified })}`,
    ],
  },
  {
    what: 'a second Authorization header with a Bearer token',
    answer: 'two_credentials',
    send: (world) => [
      `Authorization: DPoP ${world.token}`,
      `DPoP: ${good(world)}`,
      `Authorization: Bearer ${world.plain}`,
    ],
  },
  {
    what: 'a second token in the query',
    answer: 'two_credentials',
    target: '/api/courses?access_token=x',
    send: (world) => [`Authorization: DPoP ${world.token}`, `DPoP: ${good(world)}`],
  },
  {
    what: 'a proof for GET with another method',
    answer: 'wrong_method',
    method: 'POST',
    send: (world) => [`Authorization: DPoP ${world.token}`, `DPoP: ${good(world)}`],
  },
  {
    what: 'a proof for another path',
    answer: 'wrong_address',
    target: '/api/courses/1',
    send: (world) => [`Authorization: DPoP ${world.token}`, `DPoP: ${good(world)}`],
  },
]

/** Known ways to misuse a bound token. Separate tests cover replayed proofs. */
export const PROOF_ROWS: readonly ProofRow[] = [...FORM, ...SIGNATURE, ...CLAIMS, ...SCHEME]
