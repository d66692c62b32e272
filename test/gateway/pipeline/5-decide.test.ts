import fc from 'fast-check'
import t from 'tap'
import { decide } from '../../../gateway/pipeline/5-decide.ts'
import { aCaller } from '../../fixtures/a-caller.ts'

const REQUEST = { nowSeconds: 500, audience: 'https://api.test' }

function aRoute(change: object = {}) {
  return { scopes: { all: ['courses:write'], any: [] as string[] }, anonymous: 'allow' as const, ...change }
}

t.test('decide() refuses a caller whose token expired since it was cached', async (t) => {
  const caller = aCaller({ expiresAtSeconds: 440, scopes: new Set(['courses:write']) })
  t.same(decide(REQUEST, caller, aRoute()), {
    refused: 'token_invalid',
    fault: { reason: 'expired', secondsAgo: 60 },
  })
  t.match(decide(REQUEST, aCaller({ expiresAtSeconds: 500 }), aRoute()), { fault: { reason: 'expired' } })
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
  t.test(`decide() refuses a token for ${JSON.stringify(audience)}`, async (t) => {
    t.same(decide(REQUEST, aCaller({ audience, scopes: new Set(['courses:write']) }), aRoute()), {
      refused: 'token_invalid',
      fault: { reason: 'wrong_audience' },
    })
  })

t.test('decide() refuses a token whose time has not come, and lets it in when it has', async (t) => {
  const caller = aCaller({ notBeforeSeconds: 501, scopes: new Set(['courses:write']) })
  t.match(decide(REQUEST, caller, aRoute()), { fault: { reason: 'not_yet_valid' } })
  t.equal(decide({ ...REQUEST, nowSeconds: 501 }, caller, aRoute()), undefined)
})

for (const kind of ['dpop', 'mtls'] as const)
  t.test(`RFC 9449 §7.2, RFC 8705 §3 a token bound by ${kind} opens nothing as a Bearer token`, async (t) => {
    const confirmation = { kind, thumbprint: 'A'.repeat(43) }
    t.match(decide(REQUEST, aCaller({ confirmation, scopes: new Set(['courses:write']) }), aRoute()), {
      refused: 'token_invalid',
      fault: { reason: 'sender_constrained' },
    })
  })

t.test('decide() names each missing scope, in policy order, and all that are needed', async (t) => {
  const route = aRoute({ scopes: { all: ['a:read', 'b:read', 'c:read'], any: [] } })
  t.same(decide(REQUEST, aCaller({ scopes: new Set(['b:read']) }), route), {
    refused: 'scope_missing',
    needed: ['a:read', 'b:read', 'c:read'],
    missing: ['a:read', 'c:read'],
  })
})

t.test('decide() asks for one of any, and advertises the first', async (t) => {
  const route = aRoute({ scopes: { all: ['a:read'], any: ['b:read', 'c:read'] } })
  t.same(decide(REQUEST, aCaller({ scopes: new Set(['a:read']) }), route), {
    refused: 'scope_missing',
    needed: ['a:read', 'b:read'],
    missing: ['b:read'],
  })
  t.equal(decide(REQUEST, aCaller({ scopes: new Set(['a:read', 'c:read']) }), route), undefined)
  t.match(decide(REQUEST, aCaller({ scopes: new Set(['c:read']) }), route), { missing: ['a:read'] })
})

t.test('decide() compares scopes as exact members', async () => {
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
      (held) => decide(REQUEST, aCaller({ scopes: new Set(held) }), aRoute()) !== undefined,
    ),
  )
})

t.test('decide() lets a caller through who has what is needed', async (t) => {
  t.equal(decide(REQUEST, aCaller({ scopes: new Set(['x', 'courses:write']) }), aRoute()), undefined)
  t.equal(decide(REQUEST, aCaller(), aRoute({ scopes: undefined })), undefined)
})

t.test('decide() does with nobody what the route says', async (t) => {
  t.equal(decide(REQUEST, undefined, aRoute()), undefined)
  t.same(decide(REQUEST, undefined, aRoute({ anonymous: 'challenge' })), {
    refused: 'token_missing',
    anonymous: 'challenge',
    needed: ['courses:write'],
  })
  t.match(decide(REQUEST, undefined, aRoute({ anonymous: 'deny' })), { anonymous: 'deny' })
})
