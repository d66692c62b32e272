import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge }
routes:
  - name: pay
    match: { methods: [POST], path: /payments }
    scopes: { all: [courses:write] }
    authentication: { acr: [phr, mfa], maxAge: 5m }
  - name: review
    match: { methods: [GET], path: /payments }
    authentication: { maxAge: 5m }
    enforce: report
  - { name: plain, match: { methods: [GET], path: /plain } }
`

t.test('§3 of RFC 9470: a route can require a recent sign-in of a certain class', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: POLICY })
  const { gateway, issuer, upstream } = under
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const token = (id: string, claims: Record<string, unknown>) =>
    issuer.store(id, { scope: 'courses:write', ...claims })
  const pay = (sent: string) => send(`${gateway.url}/payments`, { method: 'POST', token: sent })
  const metadata = 'resource_metadata="http://api.test/.well-known/oauth-protected-resource"'

  await t.test('a token from a weaker sign-in gets a challenge for a stronger sign-in', async (t) => {
    const answer = await pay(token('weak', { acr: 'pwd', auth_time: nowSeconds, scope: '' }))
    t.equal(answer.status, 401)
    const description = 'This operation requires another sign-in method. Authorize again with acr_values.'
    t.equal(
      answer.headers.get('www-authenticate'),
      `Bearer error="insufficient_user_authentication", error_description="${description}", ` +
        `scope="courses:write", acr_values="phr mfa", max_age="300", ${metadata}`,
    )
    t.match(answer.json, {
      error: 'insufficient_user_authentication',
      error_description: description,
      scope: 'courses:write',
      acr_values: 'phr mfa',
      max_age: 300,
    })
    await until(
      'the request is logged',
      async () => under.log().at(-1)?.['http.response.status_code'] === 401,
    )
    t.match(under.log().at(-1), {
      'auth.decision': 'challenge',
      'auth.reason': 'insufficient_user_authentication',
      'error.type': 'authentication_insufficient',
    })
    t.equal(upstream.requests.length, 0)
  })

  await t.test('a token from an older sign-in gets a challenge with the maximum age', async (t) => {
    const olderSignIns = [
      { acr: 'mfa', auth_time: nowSeconds - 400 },
      { acr: 'mfa' },
      { acr: 'mfa', auth_time: `${nowSeconds}` },
      { acr: 'mfa', auth_time: nowSeconds * 1_000 },
    ]
    for (const [index, claims] of olderSignIns.entries()) {
      const answer = await pay(token(`older-${index}`, claims))
      t.equal(answer.status, 401)
      t.match(answer.headers.get('www-authenticate'), /insufficient_user_authentication.*max_age="300"/)
      t.match(answer.json['error_description'], /within the last 300 seconds/)
    }
    t.equal(upstream.requests.length, 0)
  })

  await t.test('a token from a sufficient sign-in passes', async (t) => {
    t.equal((await pay(token('good', { acr: 'mfa', auth_time: nowSeconds - 60 }))).status, 200)
    const answer = await pay(token('narrow', { acr: 'phr', auth_time: nowSeconds, scope: 'courses:read' }))
    t.equal(answer.status, 403)
    t.equal(answer.json['error'], 'insufficient_scope')
  })

  await t.test(
    'other routes accept every sign-in, and an audit-only route only counts the denial',
    async (t) => {
      const old = token('old', { auth_time: 1 })
      t.equal((await send(`${gateway.url}/plain`, { token: old })).status, 200)
      t.equal((await send(`${gateway.url}/payments`, { token: old })).status, 200)
      const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
      t.match(metrics, /reason="insufficient_user_authentication"/)
    },
  )
})
