import t from 'tap'
import { openBrowser } from '../fixtures/open-browser.ts'
import { knownClient, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

t.test('grants stay valid after a restart, and revoked tokens stay revoked', async (t) => {
  const before = await startScopegate(t)
  const browser = openBrowser(before.baseUrl)
  const client = await registerClient(before, { token_endpoint_auth_method: 'client_secret_post' })
  const kept = await client.obtainTokens({ browser, scope: 'openid courses:read' })
  const revoked = await client.obtainTokens({ browser, scope: 'courses:read' })
  const writer = await client.obtainTokens({ browser, scope: 'school:write' })
  const tagline = { tagline: 'Open again tomorrow' }
  const school = '/api/school'
  const changed = await send(`${before.baseUrl}${school}`, {
    method: 'PATCH',
    token: writer.accessToken,
    json: tagline,
  })
  t.equal(changed.status, 200)
  t.equal((await client.revoke(revoked.accessToken)).status, 200)
  await until('the gateway rejects the revoked token', async () => {
    const { status } = await send(`${before.baseUrl}/api/courses`, { token: revoked.accessToken })
    return status === 401
  })
  t.equal(await before.stop(), 0, 'the process exits with code 0')

  const after = await startScopegate(t, { dataDir: before.dataDir, port: before.port })
  for (const secret of [kept.accessToken, kept.refreshToken, revoked.accessToken, writer.accessToken])
    after.secret(secret)
  t.match((await send(`${after.baseUrl}${school}`)).json, tagline, "the demo's data is kept")
  const again = knownClient(after, client)
  t.equal((await send(`${after.baseUrl}/api/courses`, { token: kept.accessToken })).status, 200)
  t.equal((await send(`${after.baseUrl}/api/courses`, { token: revoked.accessToken })).status, 401)
  t.equal((await again.refresh(revoked.refreshToken)).json['error'], 'invalid_grant')

  const renewed = again.readTokens(await again.refresh(kept.refreshToken))
  t.equal((await send(`${after.baseUrl}/api/courses`, { token: renewed.accessToken })).status, 200)
  t.equal((await again.refresh(renewed.refreshToken)).status, 200, 'the token family stays valid')

  const fresh = await again.obtainTokens({ browser: openBrowser(after.baseUrl), scope: 'courses:read' })
  t.equal((await send(`${after.baseUrl}/api/courses`, { token: fresh.accessToken })).status, 200)
  // With a wrong password, the flow succeeds only because the browser session still exists.
  const person = { password: 'not the password' }
  const remembered = await again.obtainTokens({ browser, scope: 'courses:read', person })
  t.equal((await send(`${after.baseUrl}/api/courses`, { token: remembered.accessToken })).status, 200)
})
