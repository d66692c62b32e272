import t from 'tap'
import { readSignedIntrospection } from '../../../../gateway/tokens/introspection/read-signed-introspection.ts'
import { findKey } from '../../../../gateway/tokens/jwt/find-key.ts'
import { readJwks } from '../../../../gateway/tokens/jwt/read-jwks.ts'
import { aKey } from '../../../fixtures/jwk.ts'
import { signJws } from '../../../fixtures/jws.ts'

const NOW = 1_800_000_000
const ALGORITHMS = new Set(['ES256'])
const KEY = aKey('ES256', 'key-1')
const OTHER = aKey('ES256', 'key-1')

const rules = {
  issuer: 'https://issuer.test',
  audience: 'gateway',
  algorithms: ALGORITHMS,
  keys: {
    lookUp(keyId: string | undefined, algorithm: string) {
      const keys = readJwks({ keys: [KEY.jwk] }, ALGORITHMS)?.keys ?? []
      const key = findKey(keys, { keyId, algorithm })
      return typeof key === 'string' ? undefined : key
    },
  },
  nowSeconds: () => NOW,
}

type Members = Readonly<Record<string, unknown>>
function sign(claims: Members = {}, header: Members = {}, key = KEY): string {
  return signJws(
    { alg: 'ES256', typ: 'token-introspection+jwt', kid: 'key-1', ...header },
    { iss: rules.issuer, aud: 'gateway', iat: NOW, token_introspection: { active: true }, ...claims },
    key.privateKey,
  )
}

t.test('RFC 9701 §5: reads the response from the JWT that the issuer signed for the gateway', async (t) => {
  t.same(await readSignedIntrospection(sign(), rules), { active: true })
  t.same(await readSignedIntrospection(sign({ aud: ['other', 'gateway'] }), rules), { active: true })
  t.same(await readSignedIntrospection(sign({ iat: NOW - 60 }), rules), { active: true })
})

t.test('RFC 8725 §3.1: a key without an algorithm verifies only the allowed algorithms', async (t) => {
  const { alg: _alg, ...jwk } = aKey('RS256', 'key-1').jwk
  const rsa = { ...aKey('RS256', 'key-1'), jwk }
  const allowed = new Set(['RS256'])
  const key = readJwks({ keys: [jwk] }, allowed)?.keys[0]
  const rsaRules = { ...rules, algorithms: allowed, keys: { lookUp: () => key } }
  const signed = (alg: string) =>
    signJws(
      { alg, typ: 'token-introspection+jwt', kid: 'key-1' },
      { iss: rules.issuer, aud: 'gateway', iat: NOW, token_introspection: { active: true } },
      rsa.privateKey,
    )
  t.same(await readSignedIntrospection(signed('RS256'), rsaRules), { active: true })
  for (const alg of ['PS256', 'RS512'])
    await t.rejects(
      readSignedIntrospection(signed(alg), rsaRules),
      { code: 'ERR_INTROSPECTION_RESPONSE', message: /its algorithm/ },
      alg,
    )
})

t.test('RFC 9701 §5 and §8: rejects every other JWT', async (t) => {
  const rows: readonly (readonly [what: string, text: string])[] = [
    ['plain JSON', '{"active":true}'],
    ['an access token', sign({}, { typ: 'at+jwt' })],
    ['no typ', sign({}, { typ: undefined })],
    ['another algorithm', sign({}, { alg: 'ES384' })],
    ['another issuer', sign({ iss: 'https://other.test' })],
    ['another resource server', sign({ aud: 'other' })],
    ['nobody', sign({ aud: undefined })],
    ['made long ago', sign({ iat: NOW - 61 })],
    ['made in the future', sign({ iat: NOW + 61 })],
    ['no date', sign({ iat: undefined })],
    ['another key', sign({}, {}, OTHER)],
    ['an unknown key', sign({}, { kid: 'key-2' })],
    ['a broken signature', `${sign().slice(0, -4)}AAAA`],
  ]
  for (const [what, text] of rows)
    await t.rejects(readSignedIntrospection(text, rules), { code: 'ERR_INTROSPECTION_RESPONSE' }, what)
})
