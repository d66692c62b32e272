import t from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { introspect } from '../../fixtures/introspect.ts'
import { listenForRevocations } from '../../fixtures/listen-for-revocations.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'
import { STORE_ENGINES } from '../../fixtures/store-engines.ts'

const urlOf = (replica: { readonly port: number }) => `http://127.0.0.1:${replica.port}`
const scope = 'openid courses:read'

for (const engine of STORE_ENGINES)
  t.test(`two servers on ${engine.name}`, async (t) => {
    const { config, stop } = await engine.start(t)
    const one = await startServer(t, config)
    // A replica with the same keys, issuer and store, and with a different port.
    const two = await startServer(t, { ...config, dataDir: one.dataDir, issuer: one.baseUrl })

    t.test('one of 100 parallel exchanges of a code gets 200', async (t) => {
      const client = await registerClient(one)
      const grant = await client.obtainCode({ browser: openBrowser(one.baseUrl), scope })
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          send(`${urlOf(i % 2 === 0 ? one : two)}${ENDPOINTS.token}`, {
            form: {
              grant_type: 'authorization_code',
              code: grant.code,
              redirect_uri: client.redirectUri,
              code_verifier: grant.verifier,
              client_id: client.clientId,
            },
          }),
        ),
      )
      const winners = answers.filter(({ status }) => status === 200)
      t.equal(winners.length, 1)
      for (const answer of answers)
        if (answer.status !== 200) t.match(answer.json, { error: 'invalid_grant' })
      const [winner] = winners
      if (winner === undefined) return
      const tokens = client.readTokens(winner)
      t.match(
        (await client.refresh(tokens.refreshToken)).json,
        { error: 'invalid_grant' },
        'the token family is revoked',
      )
    })

    t.test('each replica refreshes and revokes tokens of the other replica', async (t) => {
      const client = await registerClient(two)
      const tokens = await client.obtainTokens({ browser: openBrowser(one.baseUrl), scope })
      const at = async (path: string, form: Record<string, string>) =>
        send(`${urlOf(two)}${path}`, { form: { client_id: client.clientId, ...form } })
      const refreshed = await at(ENDPOINTS.token, {
        grant_type: 'refresh_token',
        refresh_token: tokens.refreshToken,
      })
      t.equal(refreshed.status, 200)
      const next = client.readTokens(refreshed)
      t.equal((await at(ENDPOINTS.revocation, { token: next.refreshToken })).status, 200)
      const userinfo = await send(`${urlOf(one)}${ENDPOINTS.userinfo}`, { token: next.accessToken })
      t.equal(userinfo.status, 401)
      t.match(userinfo.headers.get('www-authenticate'), 'error="invalid_token"')
    })

    t.test('the servers limit the failed sign-ins of an account together', async (t) => {
      const client = await registerClient(one)
      const browser = openBrowser(one.baseUrl)
      const page = await browser.visit(client.authorizeUrl(scope, 'x'.repeat(43)))
      if (page.left) throw new Error('the server redirected to the client')
      const fields = new URLSearchParams(
        page.forms[0]?.fields.map(([name, value]): [string, string] => [name, value]),
      )
      fields.set('username', 'bob')
      fields.set('password', 'wrong')
      const cookie = [...browser.cookies.values()].map(({ name, value }) => `${name}=${value}`).join('; ')
      const post = (replica: typeof one) =>
        fetch(`${urlOf(replica)}${new URL(page.url).pathname}/sign-in`, {
          method: 'POST',
          headers: { cookie },
          body: fields,
          redirect: 'manual',
        })
      for (let i = 0; i < 10; i++) t.equal((await post(i % 2 === 0 ? one : two)).status, 400)
      for (const replica of [one, two]) {
        const rejected = await post(replica)
        t.equal(rejected.status, 429)
        t.ok(Number(rejected.headers.get('retry-after')) > 0)
      }
      const lines = [...one.log(), ...two.log()].filter(({ action }) => action === 'sign_in_throttled')
      t.equal(lines.length, 1, 'one audit line for both servers')
    })

    t.test(
      'each replica publishes the revocations of the other replica, and accepts its event IDs',
      async (t) => {
        const at = (replica: typeof one) => ({ url: urlOf(replica), secret: one.gatewaySecret })
        const client = await registerClient(one)
        const revokeOne = async () => {
          const { accessToken } = await client.obtainTokens({ browser: openBrowser(one.baseUrl), scope })
          const { grant } = await introspect(one, accessToken)
          t.equal((await client.revoke(accessToken)).status, 200)
          return String(grant)
        }
        const events = await listenForRevocations(t, at(two))
        t.match(await events.next(), { event: 'ready', data: { resumed: false } })
        let earlier = await events.next()
        while (earlier?.event === 'revoked') earlier = await events.next()
        t.match(earlier, { event: 'complete' })
        const grant = await revokeOne()
        const told = await events.next()
        t.match(told, { event: 'revoked', data: { iss: one.baseUrl, grant } })
        events.stop()
        const grantInGap = await revokeOne()
        const resumed = await listenForRevocations(t, { ...at(one), lastEventId: told?.id ?? '' })
        t.match(await resumed.next(), { event: 'ready', data: { resumed: true } })
        t.match(await resumed.next(), { event: 'revoked', data: { grant: grantInGap } })
      },
    )

    if (stop !== undefined)
      t.test('without the store, refresh and revocation get 503, and pages report an outage', async (t) => {
        const client = await registerClient(one)
        const tokens = await client.obtainTokens({ browser: openBrowser(one.baseUrl), scope })
        await stop()
        const rejected = await client.refresh(tokens.refreshToken)
        t.equal(rejected.status, 503)
        t.ok(rejected.headers.get('retry-after'))
        t.equal(
          (await client.revoke(tokens.accessToken)).status,
          503,
          'an unstored revocation does not return success',
        )
        const page = await fetch(`${one.baseUrl}/oauth/interaction/some-uid`, {
          headers: { accept: 'text/html' },
        })
        t.equal(page.headers.get('cache-control'), 'no-store')
      })
  })
