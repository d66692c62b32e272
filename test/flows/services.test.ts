import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startLearningPlatform } from '../../examples/learning-platform/app.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { runCommand } from '../fixtures/run-command.ts'
import { send } from '../fixtures/send.ts'
import { startService } from '../fixtures/start-service.ts'
import { until } from '../fixtures/until.ts'

// A production setup with one command for each service, one operator account, and the most verbose log level.
// Development mode is off.
const PASSWORD = 'correct horse of the tests'

const folder = t.testdir({ demo: {} })
const secretFile = join(folder, 'gateway-client-secret')
const gatewaySecret = randomBytes(32).toString('base64url')
writeFileSync(secretFile, gatewaySecret, { mode: 0o600 })
const port = await quietPort()
const baseUrl = `http://127.0.0.1:${port}`
const settings = {
  SCOPEGATE_ISSUER: baseUrl,
  SCOPEGATE_DATA_DIR: folder,
  SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: secretFile,
  SCOPEGATE_LOG__LEVEL: 'trace',
}
const added = await runCommand(
  ['account', 'add', 'carol', '--email', 'carol@school.example'],
  settings,
  PASSWORD,
)
const demo = await startLearningPlatform({
  host: '127.0.0.1',
  port: 0,
  databasePath: join(folder, 'demo', 'learning-platform.sqlite'),
})
t.teardown(() => demo.close())
const server = await startService(t, 'authorization-server', settings)
const gateway = await startService(t, 'gateway', {
  PORT: String(port),
  SCOPEGATE_BASE_URL: baseUrl,
  SCOPEGATE_LOG__LEVEL: 'trace',
  SCOPEGATE_ISSUERS__0__ISSUER: baseUrl,
  SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: `${server.url}${ENDPOINTS.introspection}`,
  SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: secretFile,
  SCOPEGATE_ISSUERS__0__REVOCATIONS: `${server.url}/internal/revocations`,
  SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: demo.url,
  SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__URL: server.url,
})

const secrets = new Set([gatewaySecret, PASSWORD])
const secret = (value: string | undefined): void => {
  if (value === undefined || value === '') return
  secrets.add(value)
  recordCredential(value)
}
const product = { baseUrl, secret }
const carol = { username: 'carol', password: PASSWORD }

t.test('the added account can sign in, and the development accounts do not exist', async (t) => {
  t.equal(added.code, 0, added.output)
  const client = await registerClient(product)
  for (const username of ['alice', 'bob'])
    await t.rejects(
      client.obtainCode({ browser: openBrowser(baseUrl), scope: 'openid', person: { username } }),
      /error page|come to an end/,
      `${username} cannot sign in`,
    )
})

t.test('the account can sign in, call the API, refresh and revoke', async (t) => {
  const browser = openBrowser(baseUrl)
  const client = await registerClient(product, { token_endpoint_auth_method: 'client_secret_post' })
  const scope = 'openid email courses:read'
  const tokens = await client.obtainTokens({ browser, scope, person: carol })
  // The ID of an interaction is in its cookie and in the URL. The ID is not a secret, because a signature protects the
  // cookie.
  for (const { name, value } of browser.cookies.values())
    if (!/_(interaction|resume)$/.test(name)) secrets.add(value)
  t.ok([...browser.cookies.values()].some(({ name }) => name.endsWith('.sig')))
  const user = await send(`${baseUrl}${ENDPOINTS.userinfo}`, { token: tokens.accessToken })
  t.match(user.json, { email: 'carol@school.example' })
  const call = (token: string) => send(`${baseUrl}/api/courses`, { token })
  t.equal((await call(tokens.accessToken)).status, 200)
  const renewed = client.readTokens(await client.refresh(tokens.refreshToken))
  t.equal((await call(renewed.accessToken)).status, 200)
  t.equal((await call('not-a-token')).status, 401)
  t.equal((await send(`${baseUrl}/api/orders`, { token: renewed.accessToken })).status, 403)
  t.equal((await client.refresh('x'.repeat(43))).status, 400)
  const queried = await send(`${baseUrl}/api/courses?access_token=${renewed.accessToken}`)
  t.equal(queried.status, 400)
  t.equal((await client.revoke(renewed.accessToken)).status, 200)
  await until(
    'the gateway rejects the revoked token',
    async () => (await call(renewed.accessToken)).status === 401,
  )
})

type Line = Readonly<Record<string, unknown>>

/** Returns the access line of a request in a log, as soon as the service has written the line. */
const accessLineOf = (service: { log(): string }, requestId: string | null): Promise<Line> =>
  until(`the access line of ${requestId}`, async () =>
    service
      .log()
      .split('\n')
      .slice(0, -1)
      .map((line): Line => JSON.parse(line))
      .find(({ event, request_id }) => event === 'access' && request_id === requestId),
  )

t.test('the access lines of both services have the request ID of a token request', async (t) => {
  const client = await registerClient(product)
  const answer = await client.refresh('x'.repeat(43))
  t.equal(answer.status, 400)
  const requestId = answer.headers.get('x-request-id')
  const { time: _, duration_ms: durationMs, ...line } = await accessLineOf(server, requestId)
  t.type(durationMs, 'number')
  t.strictSame(line, {
    level: 'info',
    service: 'authorization-server',
    event: 'access',
    request_id: requestId,
    'http.request.method': 'POST',
    'url.path': ENDPOINTS.token,
    'http.route': ENDPOINTS.token,
    'http.response.status_code': 400,
    'client.address': '127.0.0.1',
    'auth.client_id': client.clientId,
    'error.type': 'invalid_grant',
  })
  t.match(await accessLineOf(gateway, requestId), {
    'http.request.method': 'POST',
    'url.path': ENDPOINTS.token,
    'upstream.status': 400,
    'client.address': '127.0.0.1',
  })
})

t.test(
  'an introspection has the request ID of the API request in the access lines of both services',
  async (t) => {
    const token = 'an-unknown-token'
    const answer = await send(`${baseUrl}/api/courses`, { token })
    t.equal(answer.status, 401)
    const requestId = answer.headers.get('x-request-id')
    t.match(await accessLineOf(server, requestId), {
      'url.path': ENDPOINTS.introspection,
      'http.response.status_code': 200,
    })
    t.match(await accessLineOf(gateway, requestId), {
      'url.path': '/api/courses',
      'error.type': 'token_invalid',
    })
  },
)

t.test('the access line of the authorization server has no query and no control character', async (t) => {
  const headers = { 'x-request-id': 'sent-to-the-server' }
  const answer = await send(`${server.url}/no%0aendpoint?code=in-the-query`, { headers })
  t.equal(answer.status, 404)
  const line = await accessLineOf(server, 'sent-to-the-server')
  t.match(line, { 'url.path': '/no%0aendpoint', 'http.response.status_code': 404, 'error.type': 'not_found' })
  t.notOk(server.log().includes('in-the-query'))
})

t.test(
  'the management listener responds; its output and the logs contain no token, code, secret, password or cookie',
  async (t) => {
    // Sends a last request. Waits until the logs contain this request and the last revocation.
    await send(`${baseUrl}/api/courses`, { headers: { 'user-agent': 'the-last-of-all' } })
    await until('the log contains the last request', async () => gateway.log().includes('the-last-of-all'))
    await until('the log contains the revocation', async () =>
      server.log().includes('"action":"token_revoked"'),
    )
    let told = gateway.log() + server.log()
    for (const { managementUrl } of [gateway, server])
      for (const path of ['/livez', '/readyz?verbose', '/metrics', '/version']) {
        const answer = await send(`${managementUrl}${path}`)
        t.equal(answer.status, 200, `${path} ${answer.text}`)
        told += answer.text
      }
    t.ok(secrets.size > 10)
    for (const secret of secrets) t.notOk(told.includes(secret), `${secret.slice(0, 4)}…`)
    for (const log of [gateway.log(), server.log()]) {
      const [, ...whole] = log.split('\n').toReversed() // the last line may be incomplete
      for (const line of whole) t.doesNotThrow(() => JSON.parse(line), 'every line is JSON')
    }
  },
)
