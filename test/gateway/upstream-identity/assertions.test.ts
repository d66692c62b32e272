import { generateKeyPairSync } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose'
import t from 'tap'
import {
  type AssertionKey,
  generateAssertionKey,
  toAssertionKey,
} from '../../../gateway/upstream-identity/assertion-key.ts'
import { createAssertions } from '../../../gateway/upstream-identity/assertions.ts'
import { aCaller } from '../../fixtures/a-caller.ts'

const ISSUER = 'https://api.test'

function assertWith(key: AssertionKey, ttlSeconds = 60) {
  return createAssertions({ issuer: ISSUER, ttlSeconds, claims: [], ring: { signingKey: () => key } })
}

const ed25519 = toAssertionKey(generateKeyPairSync('ed25519').privateKey) as AssertionKey

for (const key of [generateAssertionKey(), ed25519])
  t.test(
    `an ${key.alg} assertion is a JWT that identifies the caller to one upstream for one minute`,
    async (t) => {
      const caller = aCaller({ scopes: new Set(['openid', 'courses:read']), expiresAtSeconds: 5_000 })
      const text = assertWith(key)('courses')(caller, 1_000_500)
      const { payload, protectedHeader } = await jwtVerify(text, await importJWK({ ...key.publicJwk }), {
        issuer: ISSUER,
        audience: 'courses',
        typ: 'scopegate-assertion+jwt',
        currentDate: new Date(1_000_500),
      })
      t.same(protectedHeader, { alg: key.alg, typ: 'scopegate-assertion+jwt', kid: key.kid })
      t.match(payload.jti, /^[0-9a-f-]{36}$/)
      t.same(payload, {
        iss: ISSUER,
        aud: 'courses',
        sub: 'user-1',
        client_id: 'client-1',
        token_issuer: 'https://api.test',
        scope: 'openid courses:read',
        iat: 1_000,
        exp: 1_060,
        jti: payload.jti,
      })
    },
  )

t.test(
  'the gateway reuses one assertion per caller and upstream until shortly before its expiry',
  async (t) => {
    const assertionsFor = assertWith(generateAssertionKey())
    const caller = aCaller({ expiresAtSeconds: 5_000 })
    const first = assertionsFor('courses')(caller, 1_000_000)
    t.equal(assertionsFor('courses')(caller, 1_044_999), first)
    const second = assertionsFor('courses')(caller, 1_045_000)
    t.not(second, first)
    t.not(decodeJwt(second).jti, decodeJwt(first).jti)
    t.equal(decodeJwt(assertionsFor('posts')(caller, 1_000_000)).aud, 'posts')
    t.not(assertionsFor('courses')(aCaller({ expiresAtSeconds: 5_000 }), 1_045_000), second, 'another token')
  },
)

t.test('an assertion expires at the latest with the token', async (t) => {
  const assert = assertWith(generateAssertionKey())('courses')
  const caller = aCaller({ expiresAtSeconds: 1_010 })
  const text = assert(caller, 1_000_000)
  t.equal(decodeJwt(text).exp, 1_010)
  t.equal(assert(caller, 1_009_999), text, 'the token itself expires then')
})

t.test('the assertion of a client that acts for itself has no subject', async (t) => {
  const text = assertWith(generateAssertionKey())('courses')(aCaller({ subject: undefined }), 0)
  t.notOk('sub' in decodeJwt(text))
})

t.test('toAssertionKey() accepts P-256 and Ed25519, and publishes no private member', async (t) => {
  t.equal(toAssertionKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey), undefined)
  t.equal(toAssertionKey(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey), undefined)
  t.equal(toAssertionKey(generateKeyPairSync('x25519').privateKey), undefined)
  t.same(Object.keys(generateAssertionKey().publicJwk).toSorted(), [
    'alg',
    'crv',
    'kid',
    'kty',
    'use',
    'x',
    'y',
  ])
  t.same(Object.keys(ed25519.publicJwk).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x'])
  t.equal(decodeProtectedHeader(assertWith(ed25519)('a')(aCaller(), 0)).alg, 'EdDSA')
})
