import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// These tests check docs/interface.md section 7: conditions, statuses, codes, and the form of error bodies.
const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)
const client = await registerClient(scopegate)
const tokens = await client.obtainTokens({ browser, scope: 'courses:read' })

const token = (form: Record<string, string>): Promise<Answer> =>
  send(`${baseUrl}${ENDPOINTS.token}`, { form: { client_id: client.clientId, ...form } })

t.test('§7 errors of the OAuth endpoints have the format of RFC 6749 section 5.2', async (t) => {
  const renew = { grant_type: 'refresh_token', refresh_token: tokens.refreshToken }
  expectBody(t, await token({ grant_type: 'refresh_token' }), 400, 'invalid_request')
  expectBody(t, await token({ ...renew, refresh_token: 'unknown' }), 400, 'invalid_grant')
  expectBody(t, await token({ ...renew, client_id: 'nobody' }), 401, 'invalid_client')
  expectBody(t, await token({ ...renew, scope: 'orders:read' }), 400, 'invalid_scope')
})

t.test(
  '§7 registration with a redirect URI that is not a loopback address gets invalid_redirect_uri',
  async (t) => {
    const answer = await send(`${baseUrl}${ENDPOINTS.registration}`, {
      json: { client_name: 'Web', redirect_uris: ['https://app.example/callback'] },
    })
    expectBody(t, answer, 400, 'invalid_redirect_uri')
  },
)

t.test('§7 an invalid or malformed access token gets 401 invalid_token', async (t) => {
  for (const path of ['/api/courses', ENDPOINTS.userinfo])
    expectBody(t, await send(`${baseUrl}${path}`, { token: 'not-a-token' }), 401, 'invalid_token')
})

t.test('§7 a valid token without a required scope gets 403 insufficient_scope', async (t) => {
  for (const path of ['/api/orders', ENDPOINTS.userinfo])
    expectBody(t, await send(`${baseUrl}${path}`, { token: tokens.accessToken }), 403, 'insufficient_scope')
})

t.test('§7.1 error bodies are JSON with error and error_description', async (t) => {
  const answers = [
    await send(`${baseUrl}/api/nothing`),
    await send(`${baseUrl}/api/courses`, { method: 'DELETE' }),
    await send(`${baseUrl}/api/courses`, { token: 'not-a-token' }),
    await send(`${baseUrl}/api/orders`, { token: tokens.accessToken }),
    await send(`${baseUrl}${ENDPOINTS.token}`, { method: 'POST' }),
    await send(`${baseUrl}${ENDPOINTS.registration}`, { json: {} }),
    await send(`${baseUrl}${ENDPOINTS.revocation}`, { form: {} }),
    await send(`${baseUrl}${ENDPOINTS.userinfo}`, { token: 'not-a-token' }),
    await send(`${baseUrl}/api/oauth/nothing`),
  ]
  for (const answer of answers) expectBody(t, answer, answer.status, String(answer.json['error']))
  const asBrowser = await send(`${baseUrl}/api/oauth/token`, {
    method: 'POST',
    headers: { accept: 'text/html' },
  })
  expectBody(t, asBrowser, 400, 'invalid_request')
})

t.test('§7.2 the 401 and 403 responses contain a WWW-Authenticate header', async (t) => {
  for (const path of ['/api/courses', ENDPOINTS.userinfo]) {
    const { headers } = await send(`${baseUrl}${path}`, { token: 'not-a-token' })
    t.match(parseChallenge(headers.get('www-authenticate')), {
      scheme: 'Bearer',
      parameters: {
        error: 'invalid_token',
        resource_metadata: `${baseUrl}/.well-known/oauth-protected-resource`,
      },
    })
  }
  for (const [path, scope] of Object.entries({
    '/api/orders': 'orders:read',
    [ENDPOINTS.userinfo]: 'openid',
  })) {
    const { headers } = await send(`${baseUrl}${path}`, { token: tokens.accessToken })
    t.match(parseChallenge(headers.get('www-authenticate')), {
      scheme: 'Bearer',
      parameters: {
        error: 'insufficient_scope',
        scope,
        resource_metadata: `${baseUrl}/.well-known/oauth-protected-resource`,
      },
    })
  }
})

t.test('§7.3 errors of upstreams are forwarded unchanged, and have the same format', async (t) => {
  const answer = await send(`${baseUrl}/api/courses/crs_99999999`, { token: tokens.accessToken })
  expectBody(t, answer, 404, 'not_found')
  t.notOk(answer.headers.has('x-scopegate-error'), 'the response comes from the API')
  const ours = await send(`${baseUrl}/api/nothing`)
  t.equal(ours.headers.get('x-scopegate-error'), '1', 'the response comes from the gateway')
})

function expectBody(t: Test, answer: Answer, status: number, error: string): void {
  t.equal(answer.status, status, answer.text.slice(0, 300))
  t.match(answer.headers.get('content-type'), /^application\/json/)
  t.match(answer.json, { error, error_description: /\S/ })
  t.match(error, /^[a-z_]+$/)
}
