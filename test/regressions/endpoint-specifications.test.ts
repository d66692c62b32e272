import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { type Message, send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)
const browser = openBrowser(server.baseUrl)
const userinfo = (message: Message) => send(`${server.baseUrl}${ENDPOINTS.userinfo}`, message)
const register = (metadata: Readonly<Record<string, unknown>>) =>
  send(`${server.baseUrl}${ENDPOINTS.registration}`, {
    json: { redirect_uris: ['http://127.0.0.1:49152/callback'], ...metadata },
  })

t.test('§5.3.1 of OpenID Connect Core: userinfo responds to POST as to GET', async (t) => {
  const { accessToken: token } = await client.obtainTokens({ browser, scope: 'openid profile' })
  const got = await userinfo({ token })
  t.match(got, { status: 200, json: { sub: /./, preferred_username: 'alice' } })
  const messages: Readonly<Record<string, Message>> = {
    'without a body': { method: 'POST', token },
    'with an empty form': { token, form: {} },
    'with a form': { token, form: { schema: 'openid' } },
    'with JSON': { token, json: {} },
  }
  for (const [name, message] of Object.entries(messages)) {
    const posted = await userinfo(message)
    t.equal(posted.status, 200, name)
    t.same(posted.json, got.json, name)
  }
  const inBody = await userinfo({ form: { access_token: token } })
  t.equal(inBody.status, 401, 'a token in the body is not a credential')
  t.match(await userinfo({ method: 'POST', token: 'not-a-token' }), {
    status: 401,
    json: { error: 'invalid_token' },
  })
  const large = await userinfo({
    token,
    body: 'x'.repeat(64 * 1_024),
    headers: { 'content-type': 'text/plain' },
  })
  t.match(large, { status: 413, json: { error: 'invalid_request' } })
  const preflight = await userinfo({ method: 'OPTIONS' })
  t.match(preflight.headers.get('access-control-allow-methods'), /GET, HEAD, POST, OPTIONS/)
  const other = await userinfo({ method: 'DELETE', token })
  t.equal(other.status, 405)
  t.equal(other.headers.get('allow'), 'GET, HEAD, POST, OPTIONS')
})

t.test('every response of userinfo forbids caching', async (t) => {
  const { accessToken: token } = await client.obtainTokens({ browser, scope: 'openid' })
  const { accessToken: without } = await client.obtainTokens({ browser, scope: 'courses:read' })
  for (const [message, status] of [
    [{ token }, 200],
    [{ method: 'POST', token }, 200],
    [{ token: 'not-a-token' }, 401],
    [{}, 401],
    [{ token: without }, 403],
  ] as const) {
    const answer = await userinfo(message)
    t.equal(answer.status, status)
    t.equal(answer.headers.get('cache-control'), 'no-store', String(status))
  }
})

t.test('RFC 7591 section 3.2.1: registration returns the registered scope', async (t) => {
  t.match(await register({ scope: 'openid courses:read' }), {
    status: 201,
    json: { scope: 'openid courses:read' },
  })
  const replaced = await register({ scope: 'courses:read other:service courses:read offline_access' })
  t.match(replaced, { status: 201, json: { scope: 'courses:read offline_access' } })
  t.notOk('registered_scope' in replaced.json)
  for (const scope of [undefined, 'other:service']) {
    const answer = await register({ scope })
    t.equal(answer.status, 201)
    t.notOk('scope' in answer.json, String(scope))
  }
  t.match(await register({ scope: 'courses:read "quoted"' }), {
    status: 400,
    json: { error: 'invalid_client_metadata', error_description: /scope/ },
  })
})

t.test('a client may later request scopes that it did not register', async (t) => {
  const narrow = await registerClient(server, { scope: 'courses:read' })
  const tokens = await narrow.obtainTokens({ browser, scope: 'courses:read orders:read' })
  t.equal(tokens.scope, 'courses:read orders:read')
})

t.test('RFC 7009: revocation responds 200 without a body and without a content type', async (t) => {
  const { accessToken } = await client.obtainTokens({ browser, scope: 'openid' })
  for (const token of [accessToken, 'never-issued', 'a.b.c']) {
    const answer = await client.revoke(token)
    t.equal(answer.status, 200)
    t.equal(answer.text, '')
    t.equal(answer.headers.get('content-type'), null)
    t.equal(answer.headers.get('content-length'), '0')
  }
})

t.test('a client can register as application_type web, and needs exact redirect URIs then', async (t) => {
  const web = await registerClient(server, { application_type: 'web' })
  const native = await registerClient(server, { application_type: 'native' })
  t.match(await register({ application_type: 'web' }), { status: 201, json: { application_type: 'web' } })
  t.match(await register({}), { status: 201, json: { application_type: 'native' } })
  t.match(await register({ application_type: 'toaster' }), {
    status: 400,
    json: { error: 'invalid_client_metadata', error_description: /native or web/ },
  })
  const otherPort = { redirect_uri: 'http://127.0.0.1:50000/callback' }
  t.equal((await send(web.authorizeUrl('openid', 'x'.repeat(43)))).status, 303)
  t.equal((await send(web.authorizeUrl('openid', 'x'.repeat(43), otherPort))).status, 400)
  t.equal((await send(native.authorizeUrl('openid', 'x'.repeat(43), otherPort))).status, 303)
})
