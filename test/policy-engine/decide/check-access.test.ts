import fc from 'fast-check'
import t from 'tap'
import { NO_IMPLICATION, type ScopeImplication } from '../../../oauth/scope.ts'
import { checkAccess } from '../../../policy-engine/decide/check-access.ts'
import { compileScopeCheck } from '../../../policy-engine/decide/scope-check.ts'
import type { AnonymousRule, ScopeRule } from '../../../policy-engine/load/policy-route.ts'
import { aCaller } from '../../fixtures/a-caller.ts'

const REQUEST = {
  nowSeconds: 500,
  resource: { identifier: 'https://api.test', issuers: ['https://api.test'] },
}

function aRoute(
  change: { readonly scopes?: ScopeRule | undefined; readonly anonymous?: AnonymousRule } = {},
  implication: ScopeImplication = NO_IMPLICATION,
) {
  const { scopes, anonymous } = {
    scopes: { all: ['courses:write'], any: [] },
    anonymous: 'allow' as const,
    ...change,
  }
  return { anonymous, authentication: undefined, scopes: compileScopeCheck(scopes, implication), when: [] }
}

t.test('checkAccess() denies a caller of an issuer that the resource does not list', async (t) => {
  const scopes = new Set(['courses:write'])
  for (const issuer of [
    'https://other.test',
    'https://api.test/',
    'https://API.test',
    'https://api.test.evil',
  ])
    t.same(checkAccess(REQUEST, aCaller({ issuer, scopes }), aRoute()), {
      rejected: 'token_invalid',
      fault: { reason: 'wrong_issuer' },
    })
})

t.test('checkAccess() accepts an implying scope and never advertises it', async (t) => {
  const implication = new Map([['courses:read', ['courses:read', 'courses:write', 'courses:own']]])
  const read = aRoute({ scopes: { all: ['courses:read'], any: [] } }, implication)
  for (const scope of ['courses:read', 'courses:write', 'courses:own'])
    t.equal(checkAccess(REQUEST, aCaller({ scopes: new Set([scope]) }), read), undefined, scope)
  t.same(checkAccess(REQUEST, aCaller({ scopes: new Set(['courses:readwrite']) }), read), {
    rejected: 'scope_missing',
    needed: ['courses:read'],
    missing: ['courses:read'],
  })
  const either = aRoute({ scopes: { all: [], any: ['posts:read', 'courses:read'] } }, implication)
  t.equal(checkAccess(REQUEST, aCaller({ scopes: new Set(['courses:own']) }), either), undefined)
  const write = aRoute({ scopes: { all: ['courses:write'], any: [] } }, implication)
  t.match(checkAccess(REQUEST, aCaller({ scopes: new Set(['courses:read']) }), write), {
    needed: ['courses:write'],
    missing: ['courses:write'],
  })
})

t.test('checkAccess() advertises the advertised scope in the challenge', async (t) => {
  const route = aRoute({ scopes: { all: ['a:read'], any: ['b:read', 'c:read'], advertise: 'c:read' } })
  t.same(checkAccess(REQUEST, aCaller({ scopes: new Set(['a:read']) }), route), {
    rejected: 'scope_missing',
    needed: ['a:read', 'c:read'],
    missing: ['c:read'],
  })
  t.equal(checkAccess(REQUEST, aCaller({ scopes: new Set(['a:read', 'b:read']) }), route), undefined)
})

t.test('checkAccess() denies a caller if the token expired after it was cached', async (t) => {
  const caller = aCaller({ expiresAtSeconds: 440, scopes: new Set(['courses:write']) })
  t.same(checkAccess(REQUEST, caller, aRoute()), {
    rejected: 'token_invalid',
    fault: { reason: 'expired', secondsAgo: 60 },
  })
  t.match(checkAccess(REQUEST, aCaller({ expiresAtSeconds: 500 }), aRoute()), {
    fault: { reason: 'expired' },
  })
})

for (const audience of [
  [],
  ['https://other.test'],
  ['https://api.test.evil'],
  ['https://api.tes'],
  ['https://API.test'],
  ['https://api.test/mcp'],
  ['https://other.test', 'https://api.test:443'],
])
  t.test(`checkAccess() denies a token for ${JSON.stringify(audience)}`, async (t) => {
    t.same(checkAccess(REQUEST, aCaller({ audience, scopes: new Set(['courses:write']) }), aRoute()), {
      rejected: 'token_invalid',
      fault: { reason: 'wrong_audience', expected: 'https://api.test', actual: audience },
    })
  })

t.test('checkAccess() denies a token before its start time and accepts it afterwards', async (t) => {
  const caller = aCaller({ notBeforeSeconds: 501, scopes: new Set(['courses:write']) })
  t.match(checkAccess(REQUEST, caller, aRoute()), { fault: { reason: 'not_yet_valid' } })
  t.equal(checkAccess({ ...REQUEST, nowSeconds: 501 }, caller, aRoute()), undefined)
})

for (const [kind, reason] of [
  ['dpop', 'proof_missing'],
  ['mtls', 'certificate_missing'],
] as const)
  t.test(`RFC 9449 §7.2, RFC 8705 §3: a token bound by ${kind} is denied as a Bearer token`, async (t) => {
    const confirmation = { kind, thumbprint: 'A'.repeat(43) }
    t.match(checkAccess(REQUEST, aCaller({ confirmation, scopes: new Set(['courses:write']) }), aRoute()), {
      rejected: 'token_invalid',
      fault: { reason },
    })
  })

t.test('checkAccess() lists each missing scope in policy order, and all required scopes', async (t) => {
  const route = aRoute({ scopes: { all: ['a:read', 'b:read', 'c:read'], any: [] } })
  t.same(checkAccess(REQUEST, aCaller({ scopes: new Set(['b:read']) }), route), {
    rejected: 'scope_missing',
    needed: ['a:read', 'b:read', 'c:read'],
    missing: ['a:read', 'c:read'],
  })
})

t.test('checkAccess() with `any` requires one scope and advertises the first', async (t) => {
  const route = aRoute({ scopes: { all: ['a:read'], any: ['b:read', 'c:read'] } })
  t.same(checkAccess(REQUEST, aCaller({ scopes: new Set(['a:read']) }), route), {
    rejected: 'scope_missing',
    needed: ['a:read', 'b:read'],
    missing: ['b:read'],
  })
  t.equal(checkAccess(REQUEST, aCaller({ scopes: new Set(['a:read', 'c:read']) }), route), undefined)
  t.match(checkAccess(REQUEST, aCaller({ scopes: new Set(['c:read']) }), route), { missing: ['a:read'] })
})

t.test('checkAccess() compares whole scopes, not parts of scopes', async () => {
  const close = [
    'courses:writ',
    'courses:write ',
    'Courses:write',
    'courses:write,x',
    'courses',
    'courses:writer',
  ]
  fc.assert(
    fc.property(
      fc.subarray(close),
      (held) => checkAccess(REQUEST, aCaller({ scopes: new Set(held) }), aRoute()) !== undefined,
    ),
  )
})

t.test('checkAccess() allows a caller that has the required scopes', async (t) => {
  t.equal(checkAccess(REQUEST, aCaller({ scopes: new Set(['x', 'courses:write']) }), aRoute()), undefined)
  t.equal(checkAccess(REQUEST, aCaller(), aRoute({ scopes: undefined })), undefined)
})

t.test('checkAccess() applies the anonymous setting of the route to an anonymous caller', async (t) => {
  t.equal(checkAccess(REQUEST, undefined, aRoute()), undefined)
  t.same(checkAccess(REQUEST, undefined, aRoute({ anonymous: 'challenge' })), {
    rejected: 'token_missing',
    anonymous: 'challenge',
    needed: ['courses:write'],
  })
  t.match(checkAccess(REQUEST, undefined, aRoute({ anonymous: 'deny' })), { anonymous: 'deny' })
})

t.test('checkAccess() requires a recent sign-in of an accepted class', async (t) => {
  const route = (acr: readonly string[], maxAgeSeconds: number | undefined) => ({
    ...aRoute({ scopes: { all: ['courses:write'], any: [] } }),
    authentication: { acr, maxAgeSeconds },
  })
  const check = (
    claims: Record<string, string | number | readonly string[]>,
    rule: ReturnType<typeof route>,
  ) =>
    checkAccess(
      REQUEST,
      aCaller({ scopes: new Set(['courses:write']), claims: new Map(Object.entries(claims)) }),
      rule,
    )
  const unmet = (fault: 'acr' | 'age', rule: ReturnType<typeof route>) => ({
    rejected: 'authentication_insufficient',
    fault,
    rule: rule.authentication,
    needed: ['courses:write'],
  })
  const mfa = route(['phr', 'mfa'], undefined)
  t.equal(check({ acr: 'mfa' }, mfa), undefined)
  for (const acr of ['pwd', 'MFA', 'mfa ', '', 1, ['mfa']])
    t.strictSame(check({ acr }, mfa), unmet('acr', mfa))
  t.strictSame(check({}, mfa), unmet('acr', mfa), 'a missing claim')
  const recent = route([], 300)
  // The request arrives at second 500, so a maximum age of 300 s allows sign-ins from second 200. Because clocks
  // differ, a sign-in can be up to 60 s in the future.
  for (const time of [200, 499.5, 500, 560]) t.equal(check({ auth_time: time }, recent), undefined, `${time}`)
  for (const time of [199, 561, 1_700_000_000_000, '499'])
    t.strictSame(check({ auth_time: time }, recent), unmet('age', recent), `${time}`)
  t.strictSame(check({}, recent), unmet('age', recent), 'a missing claim')
  const laterRequest = { ...REQUEST, nowSeconds: 500.9 }
  const signedIn = aCaller({ scopes: new Set(['courses:write']), claims: new Map([['auth_time', 200]]) })
  t.equal(
    checkAccess(laterRequest, signedIn, recent),
    undefined,
    'whole seconds, like the authorization server',
  )
  const both = route(['mfa'], 300)
  t.strictSame(check({ acr: 'mfa', auth_time: 1 }, both), unmet('age', both))
  t.strictSame(check({ acr: 'pwd', auth_time: 1 }, both), unmet('acr', both))
  t.equal(check({ acr: 'mfa', auth_time: 450 }, both), undefined)
})

t.test('checkAccess() checks the sign-in after the token and before the scopes', async (t) => {
  const route = { ...aRoute(), authentication: { acr: ['mfa'], maxAgeSeconds: undefined } }
  t.match(checkAccess(REQUEST, aCaller(), route), { rejected: 'authentication_insufficient' })
  t.match(checkAccess(REQUEST, aCaller({ expiresAtSeconds: 1 }), route), { rejected: 'token_invalid' })
  t.equal(checkAccess(REQUEST, undefined, route), undefined, 'the route allows anonymous callers')
})
