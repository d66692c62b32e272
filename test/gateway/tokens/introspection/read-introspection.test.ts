import t from 'tap'
import { readIntrospection } from '../../../../gateway/tokens/introspection/read-introspection.ts'
import { createScopeSets } from '../../../../policy-engine/decide/scope-check.ts'

const OPTIONS = { issuer: 'https://api.test', nowSeconds: 500, scopes: createScopeSets() }

const GOOD = {
  active: true,
  iss: 'https://api.test',
  aud: 'https://api.test',
  exp: 1_000,
  sub: 'user-1',
  client_id: 'client-1',
  scope: 'a b',
  token_type: 'Bearer',
  grant: 'g',
}

for (const active of ['true', 1, 'yes', null, {}, [], undefined, 'false', 0])
  t.test(`RFC 7662 §2.2: active: ${JSON.stringify(active)} is an invalid response`, async (t) => {
    t.throws(() => readIntrospection({ ...GOOD, active }, OPTIONS), { code: 'ERR_INTROSPECTION_RESPONSE' })
  })

for (const name of ['token_type', 'nbf', 'iat', 'jti', 'aud', 'exp', 'grant', 'cnf'])
  t.test(`RFC 7662 §2.2: ${name} without a text form causes no exception`, async (t) => {
    const odd: unknown = JSON.parse('{ "toString": 1, "valueOf": 1 }')
    const status = readIntrospection({ ...GOOD, [name]: odd }, OPTIONS)
    if (status.active) t.match(status.caller, { subject: 'user-1', tokenId: undefined })
    else t.match(status.fault.reason, /^(?:sender_constrained|inactive|claims_missing)$/)
  })

for (const response of [null, 'x', 1, [], [GOOD], true])
  t.test(`RFC 7662 §2.2: ${JSON.stringify(response).slice(0, 20)} is an invalid response`, async (t) => {
    t.throws(() => readIntrospection(response, OPTIONS), { code: 'ERR_INTROSPECTION_RESPONSE' })
  })

t.test('RFC 7662 §2.2: readIntrospection() ignores inherited members of a response', async (t) => {
  t.throws(() => readIntrospection(JSON.parse('{"__proto__":{"active":true}}'), OPTIONS), {
    code: 'ERR_INTROSPECTION_RESPONSE',
  })
})

t.test('RFC 7662 §2.2: active: false is a valid response with any other members', async (t) => {
  t.same(readIntrospection({ ...GOOD, active: false }, OPTIONS), {
    active: false,
    fault: { reason: 'inactive' },
  })
})

const FAULTS = [
  ['no exp', { exp: undefined }, 'claims_missing'],
  ['exp as text', { exp: '1000' }, 'claims_missing'],
  ['exp with a fraction', { exp: 1000.5 }, 'claims_missing'],
  ['exp in the past', { exp: 499 }, 'expired'],
  ['exp now', { exp: 500 }, 'expired'],
  ['another issuer', { iss: 'https://other.test' }, 'wrong_issuer'],
  ['an issuer with a slash', { iss: 'https://api.test/' }, 'wrong_issuer'],
  ['no issuer', { iss: undefined }, 'wrong_issuer'],
  ['token_type DPoP', { token_type: 'DPoP' }, 'sender_constrained'],
  ['a cnf.jkt that is not a thumbprint', { cnf: { jkt: 'x' } }, 'sender_constrained'],
  ['cnf of another kind', { cnf: { kid: 'x' } }, 'sender_constrained'],
  ['nbf in the future', { nbf: 561 }, 'inactive'],
  ['an nbf that is not a number', { nbf: 'x' }, 'inactive'],
] as const

for (const [what, change, reason] of FAULTS)
  t.test(`readIntrospection() rejects ${what} as ${reason}`, async (t) => {
    t.match(readIntrospection({ ...GOOD, ...change }, OPTIONS), { active: false, fault: { reason } })
  })

for (const [what, change] of [
  ['a subject with a line break', { sub: 'a\r\nx-auth-scope: all' }],
  ['a subject with a byte outside ASCII', { sub: 'ü' }],
  ['a subject that is a number', { sub: 1 }],
  ['an empty subject', { sub: '' }],
  ['a client with a line break', { client_id: 'a\nb' }],
  ['scopes as a list', { scope: ['a', 'b'] }],
  ['scopes with a tab', { scope: 'a\tb' }],
  ['scopes with two spaces', { scope: 'a  b' }],
] as const)
  t.test(`readIntrospection() ignores ${what}`, async (t) => {
    t.throws(() => readIntrospection({ ...GOOD, ...change }, OPTIONS), { code: 'ERR_INTROSPECTION_RESPONSE' })
  })

for (const [aud, audience] of [
  ['https://api.test', ['https://api.test']],
  ['https://api.test/', ['https://api.test']],
  [
    ['x', 'https://api.test/'],
    ['x', 'https://api.test'],
  ],
  [undefined, []],
  [null, []],
  [{ 0: 'https://api.test' }, []],
  [[['https://api.test']], []],
  ['https://api.test//', ['https://api.test/']],
] as const)
  t.test(`RFC 7662 §2.2: aud ${JSON.stringify(aud)} names ${JSON.stringify(audience)}`, async (t) => {
    t.match(readIntrospection({ ...GOOD, aud }, OPTIONS), { caller: { audience } })
  })

t.test('readIntrospection() prepares the headers for an upstream', async (t) => {
  const status = readIntrospection(GOOD, OPTIONS)
  t.match(status, { active: true, caller: { subject: 'user-1', grant: 'g', expiresAtSeconds: 1_000 } })
  t.same(status.active && status.caller.identityHeaders, [
    'x-auth-subject',
    'user-1',
    'x-auth-client-id',
    'client-1',
    'x-auth-scope',
    'a b',
    'x-auth-issuer',
    'https://api.test',
  ])
  const service = readIntrospection({ ...GOOD, sub: undefined, scope: undefined }, OPTIONS)
  t.same(service.active && service.caller.identityHeaders, [
    'x-auth-client-id',
    'client-1',
    'x-auth-scope',
    '',
    'x-auth-issuer',
    'https://api.test',
  ])
})

t.test('readIntrospection() returns the same set object for tokens with the same scopes', async (t) => {
  const [one, two] = [
    readIntrospection(GOOD, OPTIONS),
    readIntrospection({ ...GOOD, sub: 'user-2' }, OPTIONS),
  ]
  t.equal(one.active && one.caller.scopes, two.active && two.caller.scopes)
})
