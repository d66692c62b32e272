import t from 'tap'
import { rateLimitKey } from '../../../gateway/limits/rate-limit-key.ts'
import type { ClaimValue } from '../../../policy-engine/decide/named-claims.ts'
import {
  compileRateLimit,
  compileSharedLimit,
  type RateLimitBy,
} from '../../../policy-engine/format/rate-limit.ts'
import { aCaller } from '../../fixtures/a-caller.ts'

const keyOf = (
  by: RateLimitBy,
  caller: Parameters<typeof aCaller>[0] | undefined,
  address = '203.0.113.9',
  route = 'a/b',
) =>
  rateLimitKey(
    compileRateLimit(route, { requests: 1, perMs: 1_000, by }),
    caller === undefined ? undefined : aCaller(caller),
    address,
  )

const ALICE = { subject: 'alice', clientId: 'app' }

t.test('rateLimitKey() uses the dimension of the policy', async (t) => {
  t.match(keyOf('client', ALICE), / c:https:\/\/api\.test app$/)
  t.match(keyOf('subject', ALICE), / s:https:\/\/api\.test alice$/)
  t.match(keyOf('ip', ALICE), / a:203\.0\.113\.9$/)
  t.equal(keyOf('route', ALICE), keyOf('route', undefined, '198.51.100.1'))
})

t.test(
  'rateLimitKey() uses a broader key when a value is missing, so a caller cannot gain from omitting it',
  async (t) => {
    for (const by of ['client', 'subject'] as const) t.match(keyOf(by, undefined), / a:203\.0\.113\.9$/)
    t.match(keyOf('subject', { subject: undefined, clientId: 'app' }), / c:https:\/\/api\.test app$/)
    t.match(keyOf('client', { subject: 'alice', clientId: undefined }), / a:203\.0\.113\.9$/)
  },
)

t.test('rateLimitKey() returns different keys for different kinds, routes and rules', async (t) => {
  const keys = [
    keyOf('client', { subject: 'x', clientId: 'x' }),
    keyOf('subject', { subject: 'x', clientId: 'x' }),
    keyOf('ip', undefined, 'x'),
    keyOf('client', { clientId: 's:x' }),
    keyOf('client', { clientId: 'x' }, 'x', 'a/c'),
    keyOf('route', undefined),
  ]
  t.equal(new Set(keys).size, keys.length)
})

t.test('rateLimitKey() returns different keys for the same name from different issuers', async (t) => {
  for (const by of ['client', 'subject'] as const)
    t.not(keyOf(by, ALICE), keyOf(by, { ...ALICE, issuer: 'https://other.test' }))
})

t.test('rateLimitKey() uses the /64 of an IPv6 address', async (t) => {
  t.equal(keyOf('ip', undefined, '2001:db8:1:2:3:4:5:6'), keyOf('ip', undefined, '2001:db8:1:2::1'))
  t.not(keyOf('ip', undefined, '2001:db8:1:2::1'), keyOf('ip', undefined, '2001:db8:1:3::1'))
})

t.test(
  'rateLimitKey() returns a short key for a long name, and different keys for different long names',
  async (t) => {
    const long = 'x'.repeat(60_000)
    t.ok(keyOf('subject', { subject: long }).length < 200)
    t.not(keyOf('subject', { subject: `${long}1` }), keyOf('subject', { subject: `${long}2` }))
  },
)

t.test('rateLimitKey() uses one value of a claim, and otherwise the address', async (t) => {
  const { limit } = compileSharedLimit({ name: 'api', requests: 1, perMs: 1_000, key: 'claim', claim: 'org' })
  const of = (value: ClaimValue | undefined, caller = ALICE, name = limit) =>
    rateLimitKey(name, aCaller({ ...caller, claims: new Map([['org', value]]) }), '203.0.113.9')
  t.match(of('acme'), /^@api 1\/1000 v:https:\/\/api\.test acme$/)
  t.equal(of('acme'), of('acme', { subject: 'bob', clientId: 'other' }))
  t.equal(of(5), of('5'))
  for (const value of [undefined, [], ['acme'], ['a', 'b']]) t.match(of(value), / a:203\.0\.113\.9$/)
  const long = 'x'.repeat(1_000)
  t.ok(of(long).length < 100)
  t.not(of(`${long}1`), of(`${long}2`))
  t.not(
    of('acme'),
    rateLimitKey(limit, aCaller({ issuer: 'https://other.test', claims: new Map([['org', 'acme']]) }), ''),
  )
  const { limit: other } = compileSharedLimit({
    name: 'other',
    requests: 1,
    perMs: 1_000,
    key: 'claim',
    claim: 'org',
  })
  t.not(of('acme'), of('acme', ALICE, other))
})
