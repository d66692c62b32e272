import t from 'tap'
import { tokenKind } from '../../../../gateway/tokens/cache/token-kind.ts'
import { readCompactJwt } from '../../../../gateway/tokens/jwt/read-compact-jwt.ts'
import { part } from '../../../fixtures/jws.ts'

t.test('tokenKind() classifies every JWT as jwt and every other token as opaque', async (t) => {
  for (const header of [{ alg: 'ES256' }, { typ: 'at+jwt', alg: 'RS256', kid: 'a' }, { kid: '' }]) {
    const token = `${part(header)}.${part({ iss: 'https://issuer.test' })}.${part('signature')}`
    t.not(readCompactJwt(token), 'opaque')
    t.equal(tokenKind(token), 'jwt')
  }
  for (const token of ['opaque', 'eyJopaque', 'v1.with.dots', 'a'.repeat(43), ''])
    t.equal(tokenKind(token), 'opaque', token)
})
