import t from 'tap'
import { createJwtAccessTokens } from '../../../authorization-server/engine/jwt-access-tokens.ts'
import { makeSigningKeys } from '../../../authorization-server/keys/signing-keys.ts'

t.test('read() fails with a damaged signing key, instead of treating each token as inactive', async (t) => {
  const { keys } = await makeSigningKeys()
  const read = (signingKeys: readonly object[], token: string) =>
    createJwtAccessTokens({
      issuer: 'https://as.test',
      resources: ['https://as.test'],
      signingKeys: { keys: signingKeys as never },
      nowSeconds: () => 100,
    }).read(token)
  const token = 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.AAAA'
  t.equal(await read(keys, token), undefined)
  const damaged = keys.map((key) => (key.kty === 'EC' ? { ...key, x: 'AAAA' } : key))
  await t.rejects(read(damaged, token), { code: 'ERR_CRYPTO_INVALID_JWK' })
})
