import fc from 'fast-check'
import t from 'tap'
import { tokenKey } from '../../../../gateway/tokens/cache/token-validator.ts'

const token = fc.stringMatching(/^[\w\-.~+/]{1,40}=*$/)
const issuer = fc.string({ maxLength: 40 }).filter((text) => !text.includes('\n'))

t.test(
  'tokenKey() returns a unique key for each pair of issuer and token, wherever the issuer ends',
  async () => {
    fc.assert(
      fc.property(issuer, token, fc.nat(), (id, value, at) => {
        const whole = id + value
        const cut = at % (whole.length + 1)
        const other = [whole.slice(0, cut), whole.slice(cut)] as const
        if (other[0] === id) return
        if (tokenKey(id, value) === tokenKey(...other)) throw new Error(JSON.stringify([id, value, other]))
      }),
    )
  },
)

t.test('the same token of two issuers, and two tokens of one issuer, have different keys', async (t) => {
  t.not(tokenKey('a', 'token'), tokenKey('b', 'token'))
  t.not(tokenKey('a', 'token'), tokenKey('a', 'token2'))
})

t.test('tokenKey() reveals nothing about the token', async (t) => {
  t.notMatch(tokenKey('https://issuer.test', 'a-token-of-somebody'), /token|issuer/)
  t.equal(tokenKey('a', 'b').length, 32)
})
