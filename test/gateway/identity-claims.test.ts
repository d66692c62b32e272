import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { createClaimHeaders } from '../../gateway/upstream-identity/identity-claims.ts'
import type { ClaimValue } from '../../policy-engine/decide/named-claims.ts'
import { aCaller } from '../fixtures/a-caller.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'

function start(t: Test, claims: readonly string[]) {
  return startGatewayUnderTest(t, { change: (config) => ({ ...config, identity: { claims } }) })
}

t.test('the upstream gets the claims of identity.claims as headers and in the assertion', async (t) => {
  const { gateway, issuer, upstream } = await start(t, ['acr', 'auth_time', 'groups', 'roles'])
  issuer.store('good', {
    acr: 'mfa',
    auth_time: 1_700_000_000,
    groups: ['/staff', 'a, b', 'Łódź'],
    department: 'secret',
  })
  t.equal((await send(`${gateway.url}/api/asserted`, { token: 'good' })).status, 200)
  t.same(upstream.seen('x-auth-claim-acr'), ['mfa'])
  t.same(upstream.seen('x-auth-claim-auth-time'), ['1700000000'])
  const [groups = ''] = upstream.seen('x-auth-claim-groups')
  t.same(groups.split(',').map(decodeURIComponent), ['/staff', 'a, b', 'Łódź'])
  t.same(upstream.seen('x-auth-claim-roles'), [], 'the token does not have the claim')
  const [assertion = ''] = upstream.seen('x-auth-assertion')
  t.strictSame(decodeJwt(assertion)['claims'], {
    acr: 'mfa',
    auth_time: 1_700_000_000,
    groups: ['/staff', 'a, b', 'Łódź'],
  })
  t.notMatch(upstream.bytes, 'secret')
})

t.test('the gateway drops claim headers of a client, and sends no claims by default', async (t) => {
  const configured = await start(t, ['groups'])
  const forged = { 'x-auth-claim-groups': 'forged', X_Auth_Claim_Groups: 'forged' }
  t.equal((await send(`${configured.gateway.url}/api/courses`, { headers: forged })).status, 200)
  const plain = await startGatewayUnderTest(t)
  plain.issuer.store('good', { groups: ['staff'] })
  t.equal((await send(`${plain.gateway.url}/api/asserted`, { token: 'good', headers: forged })).status, 200)
  for (const { upstream } of [configured, plain]) {
    t.same(upstream.seen('x-auth-claim-groups'), [])
    t.notMatch(upstream.bytes, /forged|staff/)
  }
  t.notOk('claims' in decodeJwt(plain.upstream.seen('x-auth-assertion')[0] ?? ''))
})

t.test('createClaimHeaders() encodes each value, and leaves out values without a text form', async (t) => {
  t.equal(createClaimHeaders([]), undefined)
  const rows: readonly (readonly [ClaimValue | undefined, string | undefined])[] = [
    ['plain', 'plain'],
    ['', ''],
    ['One Person', 'One%20Person'],
    ['100%,\r\nx-auth-subject: admin', '100%25%2C%0D%0Ax-auth-subject:%20admin'],
    ['\ud800', '%EF%BF%BD'],
    [true, 'true'],
    [7, '7'],
    [['a', 'b,c', 7], 'a,b%2Cc,7'],
    [[], undefined],
    [undefined, undefined],
    ['x'.repeat(4_096), 'x'.repeat(4_096)],
    ['x'.repeat(4_097), undefined],
  ]
  const headersOf = createClaimHeaders(['a_claim'])
  for (const [value, text] of rows) {
    const caller = aCaller({ claims: new Map([['a_claim', value]]) })
    const expected = text === undefined ? [] : ['x-auth-claim-a-claim', text]
    t.strictSame(headersOf?.(caller), expected, JSON.stringify(value)?.slice(0, 40) ?? 'absent')
    t.equal(headersOf?.(caller), headersOf?.(caller), 'converted once')
  }
})
