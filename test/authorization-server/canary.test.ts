import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { AuthorizationServerConfig } from '../../authorization-server/config.ts'
import { hashClientSecret } from '../../authorization-server/engine/client-secret.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { scrape } from '../fixtures/scrape.ts'
import { type Parameters, send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { startEngine } from '../fixtures/start-engine.ts'

const SECRET = randomBytes(32).toString('base64url')
const ISSUER = 'http://127.0.0.1:8080'
const SCOPE = 'courses:read students:read'

/** Starts the server with a canary that can read courses and students. */
async function start(t: Test, overrides: Partial<AuthorizationServerConfig> = {}) {
  const clientSecretFile = join(t.testdir(), 'canary')
  writeFileSync(clientSecretFile, `${SECRET}\n`)
  const server = await startServer(t, {
    issuer: ISSUER,
    resources: [ISSUER, `${ISSUER}/mcp`],
    canary: { clientId: 'canary', clientSecretFile, scopes: SCOPE.split(' '), resource: ISSUER },
    ...overrides,
  })
  const url = `http://127.0.0.1:${server.port}`
  server.secret(SECRET)
  const post = async (path: string, fields: Parameters) => {
    const response = await send(url + path, {
      form: { client_id: 'canary', client_secret: SECRET, ...fields },
    })
    server.secret(response.json['access_token'] as string | undefined)
    return response
  }
  const request = (fields: Parameters = {}) =>
    post(ENDPOINTS.token, { grant_type: 'client_credentials', ...fields })
  const introspect = async (token: unknown) => {
    const gateway = { client_id: 'gateway', client_secret: server.gatewaySecret }
    return (await post(ENDPOINTS.introspection, { token: String(token), ...gateway })).json
  }
  const metadata = async () => (await send(url + ENDPOINTS.authorizationServerMetadata)).json
  return { server, url, post, request, introspect, metadata }
}

t.test('the canary gets a short access token with its own grant, and nothing else', async (t) => {
  const { server, request, introspect, metadata } = await start(t)
  t.same((await metadata())['grant_types_supported'], [
    'authorization_code',
    'refresh_token',
    'client_credentials',
  ])
  const { status, json, headers } = await request()
  const { access_token: token, ...others } = json
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'no-store')
  t.strictSame(others, { expires_in: 120, scope: SCOPE, token_type: 'Bearer' })
  const { iat, exp, grant, ...claims } = await introspect(token)
  t.equal(Number(exp) - Number(iat), 120)
  t.strictSame(claims, {
    active: true,
    aud: ISSUER,
    client_id: 'canary',
    iss: ISSUER,
    scope: SCOPE,
    sub: 'canary',
    token_type: 'Bearer',
  })
  t.match(
    server.log().find(({ action }) => action === 'token_issued'),
    { event: 'audit', client_id: 'canary', subject: 'canary', scope: SCOPE, grant: String(grant) },
    'the audit log contains the token',
  )
  const { text } = await scrape(server.managementUrl)
  t.match(text, 'scopegate_oauth_grants_created_total{consent="canary"} 1')
  t.match(
    text,
    'scopegate_oauth_requests_total{endpoint="token",grant_type="client_credentials",result="ok"} 1',
  )
})

t.test('a grant of the canary has the lifetime of its token', async (t) => {
  const { server, request } = await start(t)
  t.equal((await request()).status, 200)
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME), { readOnly: true })
  t.teardown(() => database.close())
  const grants = database.prepare("select payload from artifacts where model = 'Grant'").all()
  t.strictSame(
    grants
      .map(({ payload }) => JSON.parse(String(payload)))
      .map(({ exp, iat, clientId }) => [clientId, exp - iat]),
    [['canary', 120]],
  )
})

t.test('a revocation by the canary ends the grant', async (t) => {
  const { server, post, request, introspect } = await start(t)
  const [first, second] = [(await request()).json, (await request()).json]
  const revocation = await post(ENDPOINTS.revocation, { token: String(first['access_token']) })
  t.equal(revocation.status, 200)
  t.strictSame(await introspect(first['access_token']), { active: false })
  t.equal((await introspect(second['access_token']))['active'], true, 'each token has its own grant')
  t.match(
    server.log().find(({ action }) => action === 'token_revoked'),
    { client_id: 'canary', subject: 'canary' },
  )
  t.match((await scrape(server.managementUrl)).text, 'scopegate_oauth_grants_ended_total{reason="revoked"} 1')
})

t.test('the canary can narrow its scope, and gets no other scope or resource', async (t) => {
  const { request } = await start(t)
  t.match((await request({ scope: 'courses:read' })).json, { scope: 'courses:read' })
  t.match((await request({ resource: `${ISSUER}/` })).json, { scope: SCOPE }, 'its resource')
  for (const scope of [
    'courses:write',
    'openid',
    'offline_access',
    'unknown',
    `${SCOPE} openid`,
    'courses:read  x',
  ])
    t.match(await request({ scope }), { status: 400, json: { error: 'invalid_scope' } }, scope)
  for (const resource of [`${ISSUER}/mcp`, 'https://other.example.com', [ISSUER, `${ISSUER}/mcp`]])
    t.match(await request({ resource }), { status: 400, json: { error: 'invalid_target' } }, String(resource))
})

t.test('the canary cannot use another grant type or an authorization request', async (t) => {
  const { server, url, post } = await start(t)
  const pkce = makePkce()
  const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: 'http://127.0.0.1/' }
  for (const form of [
    { ...code, code_verifier: pkce.verifier },
    { grant_type: 'refresh_token', refresh_token: 'x' },
  ])
    t.match(
      await post(ENDPOINTS.token, form),
      { status: 400, json: { error: 'invalid_request', error_description: /not allowed for this client/ } },
      form.grant_type,
    )
  const authorization = {
    response_type: 'code',
    redirect_uri: 'http://127.0.0.1:9/callback',
    scope: SCOPE,
    state: 'a state of the test',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
  }
  const pushed = await post(ENDPOINTS.pushedAuthorizationRequest, authorization)
  t.equal(pushed.status, 400)
  t.equal(pushed.json['request_uri'], undefined)
  const query = new URLSearchParams({ ...authorization, client_id: 'canary' })
  const page = await send(`${url}${ENDPOINTS.authorization}?${query}`)
  t.equal(page.status, 400)
  t.equal(page.headers.get('location'), null)
  t.same(
    server.log().filter(({ action }) => action === 'consent_given' || action === 'token_issued'),
    [],
  )
})

t.test('only the canary with its secret gets a token with client credentials', async (t) => {
  const { url, request, server } = await start(t)
  const invalid = { status: 401, json: { error: 'invalid_client' } }
  t.match(await request({ client_secret: 'another secret' }), invalid)
  t.match(await request({ client_secret: undefined }), invalid)
  t.match(await request({ client_id: 'nobody' }), invalid)
  const denied = { status: 400, json: { error: 'invalid_request' } }
  t.match(await request({ client_id: 'gateway', client_secret: server.gatewaySecret }), denied, 'the gateway')
  t.match(await request({ client_id: 'scopegate-account', client_secret: undefined }), denied, 'the page')
  const registered = await registerClient(
    { baseUrl: url, secret: server.secret },
    {
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials', 'authorization_code'],
    },
  )
  const credentials = { client_id: registered.clientId, client_secret: registered.clientSecret }
  t.match(await request(credentials), denied, 'a registered client')
})

t.test('a stored client with this grant type gets no token', async (t) => {
  const client = { clientId: 'canary', clientSecret: SECRET }
  const canary = { ...client, scopes: ['courses:read'], resource: ISSUER, takeToken: () => undefined }
  const { baseUrl, store, rows } = await startEngine(t, { canary })
  await store.artifacts('Client').upsert(
    'other',
    {
      client_id: 'other',
      client_secret: hashClientSecret(SECRET),
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
    },
    600,
  )
  const request = (clientId: string) =>
    send(baseUrl + ENDPOINTS.token, {
      form: { grant_type: 'client_credentials', client_id: clientId, client_secret: SECRET },
    })
  t.match(await request('canary'), { status: 200 })
  const grants = rows('Grant').map(({ payload }) => JSON.parse(String(payload)))
  t.same(
    grants.map(({ iat, exp }) => exp - iat),
    [120],
    'the grant ends with its token',
  )
  t.match(await request('other'), { status: 400, json: { error: 'invalid_request' } })
})

t.test('the server limits the tokens of the canary', async (t) => {
  const { request } = await start(t)
  for (let issued = 0; issued < 60; issued++) await request()
  const limited = await request()
  t.match(limited, { status: 429, json: { error: 'rate_limited' } })
  t.ok(Number(limited.headers.get('retry-after')) > 0)
  t.match(await request({ client_secret: 'wrong' }), { status: 401 }, 'another client cannot use the limit')
})

t.test('a JWT of the canary has the same claims', async (t) => {
  const { post, request, introspect } = await start(t, {
    accessTokens: { format: 'jwt', algorithm: 'ES256', resources: new Map() },
    lifetimes: {
      codeSeconds: 60,
      accessTokenSeconds: 90,
      refreshTokenSeconds: 600,
      refreshTokenMaxSeconds: 600,
      sessionSeconds: 600,
    },
  })
  const { access_token: token, expires_in: expiresIn } = (await request()).json
  t.equal(expiresIn, 90, 'not longer than other access tokens')
  const payload = JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString())
  t.match(payload, { sub: 'canary', client_id: 'canary', aud: ISSUER, scope: SCOPE, grant: String })
  t.equal((await introspect(token))['active'], true)
  await post(ENDPOINTS.revocation, { token: String(token) })
  t.strictSame(await introspect(token), { active: false })
})

t.test('without a canary, the server does not support client credentials', async (t) => {
  const { request, metadata } = await start(t, { canary: undefined })
  t.match(await request(), { status: 401, json: { error: 'invalid_client' } })
  t.same((await metadata())['grant_types_supported'], ['authorization_code', 'refresh_token'])
})
