import t from 'tap'
import { discoverJwksUri } from '../../gateway/tokens/jwt/discover.ts'

const discover = (issuer: string, keys: string) =>
  discoverJwksUri(issuer, { fetchDocument: async () => ({ issuer, jwks_uri: keys }), timeoutMs: 1_000 })

t.test('metadata of a remote issuer cannot make the gateway call a loopback address', async (t) => {
  for (const keys of ['http://127.0.0.1:9090/metrics', 'http://localhost/keys', 'http://[::1]:9090/keys'])
    await t.rejects(discover('https://login.test', keys), { code: 'ERR_ISSUER_KEYS_METADATA' }, keys)
  t.equal(await discover('https://login.test', 'https://keys.test/keys'), 'https://keys.test/keys')
  t.equal(
    await discover('http://127.0.0.1:8081', 'http://localhost:8081/keys'),
    'http://localhost:8081/keys',
    'an issuer on this machine has them here',
  )
})
