import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge, enforce: report }
routes:
  - name: tried
    match: { methods: [GET], path: "/tried/{school}" }
    scopes: { all: [courses:write] }
    when: [{ claim: school_id, equals: "{path.school}" }]
  - { name: closed, match: { methods: [GET], path: /closed }, anonymous: deny }
  - { name: limited, match: { methods: [GET], path: /limited }, rateLimit: { requests: 1, per: 1h, by: ip } }
  - { name: enforced, match: { methods: [GET], path: /enforced }, enforce: on }
`

t.test('enforce: report allows requests that the policy denies, and reports them', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: POLICY })
  const { gateway, issuer, upstream } = under
  const reader = issuer.store('reader', { scope: 'courses:read', school_id: 's2' })
  const call = async (path: string, token?: string) => await send(`${gateway.url}${path}`, { token })
  let lines = 0
  const line = async () => {
    lines += 1
    await until('the request is logged', async () => under.log().filter(isAccess).length >= lines)
    return under.log().filter(isAccess)[lines - 1]
  }
  const isAccess = (one: Readonly<Record<string, unknown>>) => one['event'] === 'access'

  await t.test('the gateway also rejects an invalid token in audit-only mode', async (t) => {
    issuer.store('expired', { exp: 1 })
    issuer.store('elsewhere', { aud: 'https://other.test' })
    for (const token of ['unknown', 'expired', 'elsewhere', 'a"b']) {
      t.equal((await call('/tried/s1', token)).status, 401, token)
      const logged = await line()
      t.equal(logged?.['auth.decision'], 'deny')
      t.notOk('auth.would' in (logged ?? {}))
    }
    t.equal((await call('/tried/s1?access_token=x')).status, 400)
    t.equal((await line())?.['auth.decision'], 'deny')
    t.equal(upstream.requests.length, 0)
  })

  await t.test('the gateway forwards, logs and counts a request with an audit-only denial', async (t) => {
    t.equal((await call('/tried/s1', reader)).status, 200)
    t.strictSame(upstream.seen('x-auth-subject').length, 1, 'with the identity of the caller')
    t.match(await line(), {
      'auth.decision': 'allow',
      'auth.reason': 'ok',
      'auth.would': 'deny',
      'auth.would_reason': 'insufficient_scope',
      'auth.scopes_missing': ['courses:write'],
    })
    const writer = issuer.store('writer', { scope: 'courses:write', school_id: 's2' })
    t.equal((await call('/tried/s1', writer)).status, 200)
    t.match(await line(), {
      'auth.would_reason': 'condition',
      'auth.condition': 'school_id equals {path.school}',
    })
    t.equal((await call('/tried/s1')).status, 200)
    t.strictSame(upstream.seen('x-auth-subject'), [])
    t.match(await line(), {
      'auth.reason': 'anonymous',
      'auth.would': 'challenge',
      'auth.would_reason': 'anonymous',
    })
    t.equal((await call('/closed')).status, 200)
    t.match(await line(), { 'auth.would': 'deny', 'auth.would_reason': 'anonymous' })
    const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    const reported = metrics.split('\n').filter((one) => one.startsWith('scopegate_auth_reported_total{'))
    t.strictSame(reported.toSorted(), [
      'scopegate_auth_reported_total{route="test/closed",decision="deny",reason="anonymous"} 1',
      'scopegate_auth_reported_total{route="test/tried",decision="challenge",reason="anonymous"} 1',
      'scopegate_auth_reported_total{route="test/tried",decision="deny",reason="condition"} 1',
      'scopegate_auth_reported_total{route="test/tried",decision="deny",reason="insufficient_scope"} 1',
    ])
  })

  await t.test('the gateway does not report an allowed request, and limits still apply', async (t) => {
    t.equal((await call('/limited', reader)).status, 200)
    t.notOk('auth.would' in ((await line()) ?? {}))
    t.equal((await call('/limited', reader)).status, 429)
    await line()
    t.equal((await call('/enforced')).status, 401)
    t.notOk('auth.would' in ((await line()) ?? {}))
  })
})
