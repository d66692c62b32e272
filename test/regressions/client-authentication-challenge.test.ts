import * as oauth from 'oauth4webapi'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const INSECURE = { [oauth.allowInsecureRequests]: true } as const

const server = await startServer(t)
const confidential = await registerClient(server, { token_endpoint_auth_method: 'client_secret_post' })

// Before the fix, a challenge with an unregistered scheme hid `error`: oauth4webapi reported the challenge instead of
// the error.
t.test('oauth4webapi reads invalid_client after a wrong client secret in the form', async (t) => {
  const issuer = new URL(server.baseUrl)
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...INSECURE }),
  )
  const client = { client_id: confidential.clientId }
  const wrong = oauth.ClientSecretPost('not the secret')
  const refresh = await oauth.refreshTokenGrantRequest(as, client, wrong, 'x'.repeat(43), INSECURE)
  await t.rejects(oauth.processRefreshTokenResponse(as, client, refresh), {
    name: 'ResponseBodyError',
    error: 'invalid_client',
    status: 401,
  })
  const revocation = await oauth.revocationRequest(as, client, wrong, 'x'.repeat(43), INSECURE)
  await t.rejects(oauth.processRevocationResponse(revocation), {
    name: 'ResponseBodyError',
    error: 'invalid_client',
    status: 401,
  })
  const introspection = await oauth.introspectionRequest(as, client, wrong, 'x'.repeat(43), INSECURE)
  await t.rejects(oauth.processIntrospectionResponse(as, client, introspection), {
    name: 'ResponseBodyError',
    error: 'invalid_client',
    status: 401,
  })
})

t.test('RFC 6749 section 5.2: only a request with Authorization gets a challenge', async (t) => {
  const form = { client_id: confidential.clientId, client_secret: 'wrong', token: 'x' }
  for (const path of [ENDPOINTS.token, ENDPOINTS.revocation, ENDPOINTS.introspection]) {
    const answer = await send(`${server.baseUrl}${path}`, {
      form: { ...form, grant_type: 'refresh_token', refresh_token: 'x' },
    })
    t.match(answer, { status: 401, json: { error: 'invalid_client', error_description: /./ } }, path)
    t.notOk(answer.headers.has('www-authenticate'), path)

    const basic = await send(`${server.baseUrl}${path}`, {
      form,
      headers: { authorization: `Basic ${btoa('a:b')}` },
    })
    t.match(basic, { status: 401, json: { error: 'invalid_client' } }, path)
    t.equal(
      basic.headers.get('www-authenticate'),
      `Basic realm="${server.baseUrl}", error="invalid_client"`,
      path,
    )
  }
  const { client_secret: _secret, ...withoutSecret } = form
  const anonymous = await send(`${server.baseUrl}${ENDPOINTS.introspection}`, { form: withoutSecret })
  t.match(anonymous, { status: 401, json: { error: 'invalid_client' } })
  t.notOk(anonymous.headers.has('www-authenticate'))
})
