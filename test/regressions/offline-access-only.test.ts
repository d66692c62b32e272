// The server accepts `scope=offline_access` without an effect. Before the fix, a request with only this scope led to
// sign-in and consent. The choice Allow then caused access_denied.
import t from 'tap'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)
const ask = async (scope: string) => {
  const answer = await send(client.authorizeUrl(scope, makePkce().challenge))
  t.equal(answer.status, 303, scope)
  return new URL(answer.headers.get('location') ?? '', server.baseUrl)
}

t.test('rejects a request without a scope of the catalogue before sign-in', async (t) => {
  for (const scope of ['offline_access', 'offline_access offline_access']) {
    const location = await ask(scope)
    t.equal(location.origin + location.pathname, client.redirectUri, scope)
    t.equal(location.searchParams.get('error'), 'invalid_scope')
    t.match(location.searchParams.get('error_description'), /offline_access/)
    t.equal(location.searchParams.get('iss'), server.baseUrl)
    t.equal(location.searchParams.get('state'), 'a-state')
  }
})

t.test('accepts offline_access beside another scope', async (t) => {
  t.match((await ask('openid offline_access')).pathname, /^\/oauth\/interaction\//)
})
