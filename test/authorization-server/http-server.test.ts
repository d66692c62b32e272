import t, { type Test } from 'tap'
import { createAccounts } from '../../authorization-server/accounts/accounts.ts'
import type { AuthorizationServerConfig } from '../../authorization-server/config.ts'
import { openRevocationStream } from '../../authorization-server/endpoints/revocation-stream.ts'
import type { EngineEvent } from '../../authorization-server/engine/engine-events.ts'
import { createHttpServer } from '../../authorization-server/http-server.ts'
import { createMetrics } from '../../authorization-server/observe/metrics.ts'
import { createLook } from '../../authorization-server/pages/look.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { send } from '../fixtures/send.ts'
import { SILENT_LOGGER } from '../fixtures/silent-logger.ts'
import { aConfig } from '../fixtures/start-authorization-server.ts'
import { startEngine } from '../fixtures/start-engine.ts'

/** Creates the HTTP server with a real engine and a real store. Tests can inject requests with any client address. */
async function create(t: Test, overrides: Partial<AuthorizationServerConfig> = {}) {
  const events: EngineEvent[] = []
  const onEvent = (event: EngineEvent) => void events.push(event)
  const { engine, store, baseUrl } = await startEngine(t, { onEvent })
  const logger = SILENT_LOGGER
  const metrics = createMetrics({ version: '1.2.3', listeners: () => 0, logger })
  const revocations = await openRevocationStream({
    clientId: 'gateway',
    clientSecrets: () => ['the secret of the gateway'],
    readSecrets: async () => undefined,
    log: store.revocations,
    onEvent: () => undefined,
  })
  const app = createHttpServer({
    config: await aConfig('/nowhere', { issuer: baseUrl, ...overrides }),
    look: createLook(),
    engine,
    store,
    accounts: createAccounts({ store: store.accounts, development: false, nowSeconds: () => 1_000 }),
    metrics,
    logger,
    onEvent,
    revocations,
    secrets: {
      current: {
        gatewaySecrets: ['the secret of the gateway'],
        canarySecrets: [],
        adminTokens: [],
        signingKeys: { keys: [] },
        cookieSecrets: ['a key of the cookies of this test'],
        integrations: [],
        providers: [],
      },
      clientSecretHashes: () => undefined,
      verifyClientSecret: () => undefined,
      readGatewaySecrets: async () => undefined,
      readAdminTokens: async () => undefined,
      providerSecrets: () => [],
      onChange: () => undefined,
    },
  })
  t.teardown(async () => {
    await revocations.close()
    await app.close()
  })
  await app.ready()
  return { app, events, metrics }
}

const payload = { redirect_uris: ['http://127.0.0.1:49152/callback'] }

t.test('the server limits the time of a header and of a request', async (t) => {
  const { app } = await create(t)
  t.strictSame([app.server.headersTimeout, app.server.requestTimeout], [10_000, 30_000])
})

t.test('the server reads the client address only from a proxy in a private network', async (t) => {
  const { app, events } = await create(t)
  for (const [remoteAddress, isTrusted] of [
    ['127.0.0.1', true],
    ['::1', true],
    ['169.254.0.7', true],
    ['fe80::7', true],
    ['10.0.0.7', true],
    ['192.168.0.7', true],
    ['fd00::7', true],
    ['198.51.100.7', false],
    ['2001:db8::7', false],
  ] as const) {
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    const answer = await app.inject({
      method: 'POST',
      url: ENDPOINTS.registration,
      remoteAddress,
      headers,
      payload: { redirect_uris: ['nowhere'] },
    })
    t.equal(answer.statusCode, 400)
    await app.inject({ method: 'POST', url: ENDPOINTS.token, remoteAddress, headers, payload: 'a=b' })
    const query = { url: `${ENDPOINTS.authorization}?client_id=unknown`, remoteAddress, headers }
    await app.inject({ method: 'GET', ...query })
    t.equal(events.at(-1)?.origin?.clientAddress, isTrusted ? '203.0.113.9' : remoteAddress)
  }
})

t.test('a request keeps its ID of 1 to 128 letters, digits, - and _', async (t) => {
  const { app } = await create(t)
  const idOf = async (id: string) =>
    (await app.inject({ url: ENDPOINTS.jwks, headers: { 'x-request-id': id } })).headers['x-request-id']
  for (const id of ['a', 'AZaz09_-', 'x'.repeat(128)]) t.equal(await idOf(id), id)
  for (const id of ['', 'x'.repeat(129), 'a b', 'a.b', 'a,b', 'é'])
    t.match(await idOf(id), /^[0-9a-f]{8}-[0-9a-f-]{27}$/, id)
})

t.test('userinfo requests are counted by result, and the stream has no HEAD', async (t) => {
  const { app, metrics } = await create(t)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.equal((await send(url + ENDPOINTS.userinfo)).status, 401)
  t.equal((await send(url + ENDPOINTS.userinfo, { token: 'unknown' })).status, 401)
  const text = await metrics.registry.metrics()
  for (const result of ['unauthorized', 'invalid_token'])
    t.match(text, `scopegate_oauth_requests_total{endpoint="userinfo",grant_type="-",result="${result}"} 1`)
  t.equal((await send(`${url}/internal/revocations`)).status, 401)
  t.equal((await send(`${url}/internal/revocations`, { method: 'HEAD' })).status, 404)
})

t.test('the duration of each request is observed by endpoint and class of the status', async (t) => {
  const { app, metrics } = await create(t)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const [path, status, message] of [
    [ENDPOINTS.jwks, 200, {}],
    [ENDPOINTS.openidConfiguration, 200, {}],
    [ENDPOINTS.token, 400, { form: { grant_type: 'password' } }],
    [ENDPOINTS.registration, 201, { json: payload }],
    [ENDPOINTS.userinfo, 401, {}],
    [`${ENDPOINTS.interaction}/uid-1`, 400, {}],
    [`${ENDPOINTS.interaction}/uid-2/consent`, 403, { form: {} }],
    ['/unknown-1', 404, {}],
    ['/unknown-2', 404, {}],
    ['/internal/revocations', 401, {}],
  ] as const)
    t.equal((await send(url + path, message)).status, status, path)
  const text = await metrics.registry.metrics()
  const counts = text.match(/(?<=^scopegate_oauth_request_duration_seconds_count).*$/gm) ?? []
  t.strictSame(counts.toSorted(), [
    '{endpoint="-",code_class="4xx"} 2',
    '{endpoint="/oauth/interaction/:uid",code_class="4xx"} 1',
    '{endpoint="/oauth/interaction/:uid/consent",code_class="4xx"} 1',
    '{endpoint="discovery",code_class="2xx"} 1',
    '{endpoint="jwks",code_class="2xx"} 1',
    '{endpoint="registration",code_class="2xx"} 1',
    '{endpoint="token",code_class="4xx"} 1',
    '{endpoint="userinfo",code_class="4xx"} 1',
  ])
  for (const [, seconds] of text.matchAll(/^scopegate_oauth_request_duration_seconds_sum\S+ (\S+)$/gm))
    t.ok(Number(seconds) > 0)
})

t.test('the server applies each limit of the configuration', async (t) => {
  const limited = { perAddress: 1, windowMs: 60_000 }
  const { app } = await create(t, {
    registration: {
      loopbackHosts: ['localhost'],
      bodyLimitBytes: 100,
      documentHosts: [],
      unusedClientSeconds: 60,
      rateLimit: limited,
    },
    authorization: { rateLimit: limited, pending: { perAddress: 1, total: 1 } },
  })
  const register = async (body: object) =>
    (await app.inject({ method: 'POST', url: ENDPOINTS.registration, payload: body })).statusCode
  const local = { redirect_uris: ['http://localhost:1/'] }
  t.equal(await register(payload), 400)
  t.equal(await register({ ...local, client_name: 'x'.repeat(100) }), 413)
  t.equal(await register(local), 201)
  t.equal(await register(local), 429)
  const authorize = async () => (await app.inject({ url: `${ENDPOINTS.authorization}?a=b` })).statusCode
  t.equal(await authorize(), 400)
  t.equal(await authorize(), 429)
})

t.test('the pages have the name, the origin and the cookies of the issuer', async (t) => {
  const { app } = await create(t, { issuer: 'https://login.example.com', name: 'The name' })
  const page = await app.inject({ url: `${ENDPOINTS.interaction}/unknown`, headers: { accept: 'text/html' } })
  t.match(page, { statusCode: 400, body: 'The name' })
})
