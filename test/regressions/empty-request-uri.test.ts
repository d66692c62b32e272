// Before the fix, the server treated an authorization request with `request_uri=` as a pushed request, and did not
// check its parameters. The request could omit scope and state, and the server dropped unknown scopes silently.
import t from 'tap'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Parameters, send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)

const cases: readonly (readonly [string, Parameters, string])[] = [
  ['no scope', { scope: undefined }, 'invalid_request'],
  ['an empty scope', { scope: '' }, 'invalid_request'],
  ['an unknown scope', { scope: 'openid courses:juggle' }, 'invalid_scope'],
  ['no state', { state: undefined }, 'invalid_request'],
]
for (const [name, overrides, error] of cases)
  t.test(`an empty request_uri does not permit ${name}`, async (t) => {
    const { challenge } = makePkce()
    const answer = await send(client.authorizeUrl('openid', challenge, { request_uri: '', ...overrides }))
    t.equal(answer.status, 303)
    const location = new URL(answer.headers.get('location') ?? '', server.baseUrl)
    t.equal(location.origin + location.pathname, client.redirectUri)
    t.equal(location.searchParams.get('error'), error)
    t.equal(location.searchParams.get('iss'), server.baseUrl)
  })

t.test('an empty request_uri in a complete request is ignored', async (t) => {
  const { challenge } = makePkce()
  const answer = await send(client.authorizeUrl('openid', challenge, { request_uri: '' }))
  t.equal(answer.status, 303)
  t.match(answer.headers.get('location'), /^\/oauth\/interaction\//)
})
