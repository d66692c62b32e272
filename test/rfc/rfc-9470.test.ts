import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { beforeAuthorizationServer } from '../fixtures/before-authorization-server.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: payments
upstream: api
defaults: { anonymous: challenge }
routes:
  - name: pay
    match: { methods: [POST], path: /payments }
    scopes: { all: [courses:write] }
    authentication: { maxAge: 5s }
`

t.test('§4 of RFC 9470: a client can get a token from a recent sign-in', async (t) => {
  for (const format of ['opaque', 'jwt'] as const)
    await t.test(`${format} tokens`, async (t) => {
      const [port, serverPort] = [await quietPort(), await quietPort()]
      const base = `http://127.0.0.1:${port}`
      const server = await startServer(t, {
        issuer: base,
        listen: { host: '127.0.0.1', port: serverPort },
        accessTokens: { format, algorithm: 'ES256', resources: new Map() },
      })
      const serverUrl = `http://127.0.0.1:${serverPort}`
      await startGatewayUnderTest(t, {
        policy: POLICY,
        change: (config) =>
          beforeAuthorizationServer(config, { base, port, serverUrl, gatewaySecret: server.gatewaySecret }),
      })
      const client = await registerClient({ baseUrl: base, secret: () => undefined })
      const browser = openBrowser(base)
      const pay = (token: string) => send(`${base}/payments`, { method: 'POST', token })

      const first = await client.obtainTokens({ browser, scope: 'openid courses:write' })
      t.equal((await pay(first.accessToken)).status, 200)
      await until('the sign-in is too old', async () => (await pay(first.accessToken)).status === 401, 20_000)
      const renewed = client.readTokens(await client.refresh(first.refreshToken))
      const answer = await pay(renewed.accessToken)
      t.equal(answer.status, 401, 'a refresh is not a sign-in')
      const { parameters } = parseChallenge(answer.headers.get('www-authenticate'))
      t.match(parameters, { error: 'insufficient_user_authentication', max_age: '5', scope: 'courses:write' })

      // The browser still has its session, but `max_age` makes the server show the sign-in page again.
      const overrides = { max_age: parameters['max_age'] }
      const second = await client.obtainTokens({ browser, scope: `openid ${parameters['scope']}`, overrides })
      t.equal((await pay(second.accessToken)).status, 200)
    })
})
