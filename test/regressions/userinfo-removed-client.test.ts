// A token of a removed client is inactive for the gateway. Before the fix, the userinfo endpoint still accepted this
// token.
import { join } from 'node:path'
import t from 'tap'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../authorization-server/store/sqlite-store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { TOKEN_SETTINGS } from '../fixtures/token-settings.ts'

t.test('userinfo rejects a token of a removed client', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const { accessToken } = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid' })
  const ask = () => send(`${server.baseUrl}${ENDPOINTS.userinfo}`, { token: accessToken })
  t.equal((await ask()).status, 200)
  const store = openSqliteStore(join(server.dataDir, SQLITE_FILE_NAME), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => Math.floor(Date.now() / 1000),
  })
  t.teardown(() => store.close())
  await store.artifacts('Client').destroy(client.clientId)
  const answer = await ask()
  t.match(answer, { status: 401, json: { error: 'invalid_token' } })
  t.match(answer.headers.get('www-authenticate'), /error="invalid_token"/)
})
