import t from 'tap'
import type { JwtRules } from '../../../../gateway/tokens/jwt/jwt-rules.ts'
import { readTokenClaims } from '../../../../gateway/tokens/jwt/read-token-claims.ts'
import { createScopeSets } from '../../../../policy-engine/decide/scope-check.ts'

const RULES: JwtRules = {
  issuer: 'https://issuer.test',
  algorithms: new Set(['ES256']),
  type: 'at+jwt',
  claims: { scope: ['scope', 'scp'], client: ['client_id', 'azp', 'appid', 'cid'], subject: 'sub' },
  audience: ['api://name'],
  resource: 'https://api.test',
  clockToleranceSeconds: 60,
}
const NOW = 10_000
const read = (claims: object, rules: Partial<JwtRules> = {}) =>
  readTokenClaims(
    new Map(Object.entries({ iss: 'https://issuer.test', exp: 11_000, ...claims })),
    { ...RULES, ...rules },
    { nowSeconds: NOW, scopes: createScopeSets() },
  )
const callerOf = (claims: object, rules: Partial<JwtRules> = {}) => {
  const status = read(claims, rules)
  return status.active ? status.caller : undefined
}

t.test('a token with the claims of another issuer has no caller for this issuer', async (t) => {
  for (const iss of ['https://issuer.test/', 'https://other.test', undefined, ['https://issuer.test'], 7])
    t.same(read({ iss }), { active: false, fault: { reason: 'wrong_issuer' } }, String(iss))
})

t.test('class 45: accepts a token 59 s after its expiry and rejects it 61 s after', async (t) => {
  t.match(read({ exp: NOW - 59 }), { active: true, caller: { expiresAtSeconds: NOW + 1 } })
  t.same(read({ exp: NOW - 61 }), { active: false, fault: { reason: 'expired', secondsAgo: 61 } })
  t.match(read({ exp: NOW - 1 }, { clockToleranceSeconds: 0 }), { fault: { reason: 'expired' } })
})

t.test('the caller contains the later time of nbf and iat, and every request checks this time', async (t) => {
  t.equal(callerOf({ nbf: NOW + 100, iat: NOW })?.notBeforeSeconds, NOW + 40)
  t.equal(callerOf({ nbf: NOW, iat: NOW + 100 })?.notBeforeSeconds, NOW + 40)
})

t.test('the first claim name that is present counts, even with an unusable value', async (t) => {
  t.equal(callerOf({ azp: 'a', cid: 'c' })?.clientId, 'a')
  t.equal(callerOf({ client_id: 'x', azp: 'a' })?.clientId, 'x')
  t.same(callerOf({ scp: ['a:read', 'b:read'] })?.scopes, new Set(['a:read', 'b:read']))
  t.same(callerOf({ scp: 'a:read b:read' })?.scopes, new Set(['a:read', 'b:read']))
  t.same(callerOf({ scope: '', scp: 'a:read' })?.scopes, new Set())
  t.same(callerOf({ scope: [] })?.scopes, new Set())
  t.equal(callerOf({ oid: 'o', sub: 's' }, { claims: { ...RULES.claims, subject: 'oid' } })?.subject, 'o')
})

for (const scope of [
  null,
  1,
  {},
  'a  b',
  ' a',
  'a\tb',
  'a"b',
  ['a b'],
  ['a', ''],
  ['a', 1],
  [['a']],
  'a\\b',
  'ü',
])
  t.test(`the scope ${JSON.stringify(scope)} is invalid`, async (t) => {
    t.match(read({ scope }), { active: false, fault: { reason: 'claims_invalid' } })
  })

t.test(
  'a configured API name of the issuer maps to the API URL, and a part of the name does not',
  async (t) => {
    t.same(callerOf({ aud: 'api://name' })?.audience, ['api://name', 'https://api.test'])
    t.same(callerOf({ aud: ['x', 'api://name'] })?.audience, ['x', 'api://name', 'https://api.test'])
    for (const aud of [
      'api://nam',
      'api://name2',
      'API://name',
      'api://name/',
      undefined,
      null,
      {},
      ['x'],
      [['api://name']],
    ])
      t.notOk(callerOf({ aud })?.audience.includes('https://api.test'), JSON.stringify(aud))
  },
)

t.test('the caller contains the binding of the token', async (t) => {
  const thumbprint = 'A'.repeat(43)
  t.same(callerOf({ cnf: { jkt: thumbprint } })?.confirmation, { kind: 'dpop', thumbprint })
  t.match(read({ cnf: { kid: 'x' } }), { fault: { reason: 'sender_constrained' } })
})

t.test('jti identifies a token of an issuer, and the caller contains its hash', async (t) => {
  const one = callerOf({ jti: 'id-1' })?.tokenId
  t.match(one, /^[\w-]{43}$/)
  t.equal(callerOf({ jti: 'id-1' })?.tokenId, one)
  t.not(callerOf({ jti: 'id-2' })?.tokenId, one)
  const elsewhere = { iss: 'https://other.test' }
  t.not(callerOf({ jti: 'id-1', ...elsewhere }, { issuer: 'https://other.test' })?.tokenId, one)
  t.equal(callerOf({ jti: 7 })?.tokenId, undefined)
})
