import t from 'tap'
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

t.test('parseSigningKeys() rejects a notBefore that is not a whole number', async (t) => {
  const { keys } = await makeSigningKeys()
  const text = (notBefore: unknown) => JSON.stringify({ keys: keys.map((key) => ({ ...key, notBefore })) })
  t.equal(parseSigningKeys(text(1_700_000_000), 'keys.json').keys[0]?.notBefore, 1_700_000_000)
  for (const wrong of ['1700000000', 1.5, null])
    t.throws(() => parseSigningKeys(text(wrong), 'keys.json'), {
      code: 'ERR_SIGNING_KEYS',
      message: /keys\.json: keys\[0\]\.notBefore is not a whole number of seconds since 1970\./,
    })
})
