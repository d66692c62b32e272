import t from 'tap'
import { findKey } from '../../../../gateway/tokens/jwt/find-key.ts'
import { type KeySet, readJwks } from '../../../../gateway/tokens/jwt/read-jwks.ts'
import { aKey } from '../../../fixtures/jwk.ts'

const ALLOWED = new Set(['ES256', 'ES384', 'RS256', 'EdDSA', 'Ed25519'])

/** Returns a published key without `alg`, with or without a key ID. */
function anyUse(algorithm: string, kid?: string) {
  const { alg: _alg, kid: _kid, ...jwk } = aKey(algorithm, 'x').jwk
  return kid === undefined ? jwk : { ...jwk, kid }
}

const keysOf = (...published: readonly object[]) => (readJwks({ keys: published }, ALLOWED) as KeySet).keys

t.test('a key is found only for the algorithms of its type, with any key ID', async (t) => {
  const keys = keysOf(anyUse('ES256', 'a'), anyUse('EdDSA', 'b'), anyUse('RS256', 'c'))
  t.equal(keys.length, 3)
  const wanted = { a: ['ES256'], b: ['EdDSA', 'Ed25519'], c: ['RS256'] }
  for (const [keyId, algorithms] of Object.entries(wanted))
    for (const algorithm of ALLOWED) {
      const found = findKey(keys, { keyId, algorithm })
      if (algorithms.includes(algorithm)) t.match(found, { kid: keyId }, `${keyId} ${algorithm}`)
      else t.equal(found, 'unfit', `${keyId} ${algorithm}`)
    }
})

t.test(
  'a token without a key ID is valid with one matching key, and rejected with several matching keys',
  async (t) => {
    const nameless = { keyId: undefined, algorithm: 'ES256' }
    t.type(findKey(keysOf(anyUse('ES256'), anyUse('RS256', 'c')), nameless), 'object')
    t.equal(findKey(keysOf(anyUse('ES256'), anyUse('ES256', 'b')), nameless), 'unfit')
    t.equal(
      findKey(keysOf(anyUse('RS256', 'c')), nameless),
      'unknown',
      'the issuer may have published one in the meantime',
    )
    t.equal(findKey(keysOf(anyUse('ES256')), { keyId: 'a', algorithm: 'ES256' }), 'unknown')
  },
)
