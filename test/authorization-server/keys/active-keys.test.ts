import t from 'tap'
import { findRisks } from '../../../authorization-server/keys/signing-key-risks.ts'
import {
  activeKeys,
  makeSigningKeys,
  parseSigningKeys,
} from '../../../authorization-server/keys/signing-keys.ts'

t.test('activeKeys() puts the key with the latest past notBefore first', async (t) => {
  const key = (kid: string, notBefore?: number) => ({
    kty: 'EC',
    kid,
    ...(notBefore === undefined ? {} : { notBefore }),
  })
  const keys = [key('a'), key('later', 300), key('b'), key('new', 100), key('next', 200)]
  const at = (nowSeconds: number) => {
    const active = activeKeys({ keys }, nowSeconds)
    return [active.keys.map(({ kid }) => kid), active.changesAtSeconds]
  }
  t.same(at(99), [['a', 'b', 'new', 'next', 'later'], 100])
  t.same(at(100), [['new', 'a', 'b', 'next', 'later'], 200])
  t.same(at(250), [['next', 'new', 'a', 'b', 'later'], 300])
  t.same(at(300), [['later', 'next', 'new', 'a', 'b'], undefined])
  t.notMatch(JSON.stringify(activeKeys({ keys }, 0).keys), 'notBefore')
})

t.test('activeKeys() gives each key alg and use, because the engine prefers keys with both', async (t) => {
  const keys = [
    { kty: 'RSA', kid: 'old', alg: 'RS256', use: 'sig' },
    { kty: 'RSA', kid: 'new', notBefore: 100, retireAfter: 200, key_ops: ['sign'], ext: true },
    { kty: 'EC', crv: 'P-256' },
    { kty: 'EC', crv: 'P-384' },
    { kty: 'EC', crv: 'P-521' },
    { kty: 'OKP', crv: 'Ed25519' },
    { kty: 'OKP', crv: 'Ed25519', alg: 'Ed25519' },
  ]
  t.strictSame(activeKeys({ keys }, 100).keys, [
    { kty: 'RSA', kid: 'new', alg: 'RS256', use: 'sig' },
    { kty: 'RSA', kid: 'old', alg: 'RS256', use: 'sig' },
    { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' },
    { kty: 'EC', crv: 'P-384', alg: 'ES384', use: 'sig' },
    { kty: 'EC', crv: 'P-521', alg: 'ES512', use: 'sig' },
    { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' },
    { kty: 'OKP', crv: 'Ed25519', alg: 'Ed25519', use: 'sig' },
  ])
})

t.test('parseSigningKeys() rejects a notBefore that is not a whole number of seconds', async (t) => {
  const { keys } = await makeSigningKeys()
  const nowSeconds = 1_700_000_000
  const text = (notBefore: unknown) => JSON.stringify({ keys: keys.map((key) => ({ ...key, notBefore })) })
  const read = (notBefore: unknown) => parseSigningKeys(text(notBefore), 'keys.json', { nowSeconds })
  t.equal(read(nowSeconds).keys[0]?.notBefore, nowSeconds)
  for (const wrong of ['1700000000', 1.5, null])
    t.throws(() => read(wrong), {
      code: 'ERR_SIGNING_KEYS',
      message: /keys\.json: keys\[0\]\.notBefore is not a whole number of seconds since 1970\./,
    })
  t.throws(() => read(nowSeconds * 1_000), {
    code: 'ERR_SIGNING_KEYS',
    message: /keys\[0\]\.notBefore is in milliseconds, not in seconds since 1970\./,
  })
})

t.test('parseSigningKeys() requires a currently signing key of each required type', async (t) => {
  const { keys } = await makeSigningKeys()
  const later = (alg: string) => ({
    keys: keys.map((key) => ({ ...key, ...(key.alg === alg && { notBefore: 101 }) })),
  })
  const read = (alg: string, nowSeconds: number, algorithm?: 'EdDSA') =>
    parseSigningKeys(JSON.stringify(later(alg)), 'keys.json', { algorithm, nowSeconds })
  for (const [alg, name, algorithm] of [
    ['ES256', 'a P-256 key for ES256'],
    ['RS256', 'an RSA key for RS256'],
    ['Ed25519', 'an Ed25519 key for accessTokens.algorithm', 'EdDSA'],
  ] as const) {
    t.throws(() => read(alg, 100, algorithm), {
      code: 'ERR_SIGNING_KEYS',
      message: `keys.json: ${name} that signs now is missing: every key of this type has a notBefore in the future. Keep the current signing key in the file until the notBefore of the next key.`,
    })
    t.equal(read(alg, 101, algorithm).keys.length, 3)
  }
  t.equal(read('Ed25519', 100).keys.length, 3, 'no token uses Ed25519')
})

t.test('findRisks() finds changes that make gateways reject valid tokens', async (t) => {
  const ec = (kid: string, notBefore?: number) => ({
    kty: 'EC',
    crv: 'P-256',
    kid,
    ...(notBefore === undefined ? {} : { notBefore }),
  })
  const set = (...keys: readonly ReturnType<typeof ec>[]) => ({ keys })
  const risks = (before: ReturnType<typeof set>, after: ReturnType<typeof set>) =>
    findRisks(before, after, 100).map(({ kid, reason }) => `${kid} ${reason}`)
  t.same(risks(set(ec('a')), set(ec('a'), ec('b', 101))), [], 'the new key is published first')
  t.same(risks(set(ec('a'), ec('b', 100)), set(ec('b', 100))), [], 'the removed key did not sign')
  t.same(risks(set(ec('a')), set(ec('b'), ec('a'))), ['b signs_at_once'])
  t.same(risks(set(ec('a')), set(ec('a'), ec('b', 100))), ['b signs_at_once'])
  t.same(risks(set(ec('a')), set(ec('b'))), ['a removed_while_signing', 'b signs_at_once'])
  t.same(risks(set(ec('a'), ec('b', 50)), set(ec('c'), ec('b', 50), ec('a'))), ['c never_signs'])
  t.same(risks(set(ec('a'), ec('b')), set(ec('b'), ec('a'))), [], 'the order of published keys changes')
})
