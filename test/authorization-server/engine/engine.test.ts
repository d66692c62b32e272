import t from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import { type Browser, openBrowser } from '../../fixtures/open-browser.ts'
import { type Client, makePkce, registerClient } from '../../fixtures/register-client.ts'
import { type Answer, type Parameters, parseObject, send } from '../../fixtures/send.ts'
import { startEngine, type TestEngine } from '../../fixtures/start-engine.ts'

const HTML = { accept: 'text/html' }

/**
 * Signs in, and consents to all scopes, through the interactions of the engine. Returns the code and the PKCE verifier.
 */
async function obtainCode(
  client: Client,
  browser: Browser,
  { scope = 'openid courses:read', ...overrides }: Parameters = {},
): Promise<{ readonly code: string; readonly verifier: string }> {
  const { verifier, challenge } = makePkce()
  let url = client.authorizeUrl(String(scope), challenge, { prompt: 'login', ...overrides }).href
  for (const operation of ['sign-in', `consent?scopes=${encodeURIComponent(String(scope))}`]) {
    const page = await browser.visit(url)
    if (page.left) throw new Error(`left for ${page.location.href}`)
    const result = await browser.visit(`${page.url}/${operation}`)
    url = String(parseObject(result.left ? '' : result.html)['address'])
  }
  const left = await browser.visit(url)
  return { code: left.left ? (left.location.searchParams.get('code') ?? '') : '', verifier }
}

async function obtainTokens(on: TestEngine, client: Client, overrides: Parameters = {}) {
  return client.readTokens(
    await client.exchange(await obtainCode(client, openBrowser(on.baseUrl), overrides)),
  )
}

const decode = (jwt = ''): Record<string, unknown> =>
  parseObject(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())

t.test('each document has exactly the expected headers, and a request with its ETag gets 304', async (t) => {
  const { baseUrl } = await startEngine(t)
  for (const [path, type] of [
    [ENDPOINTS.authorizationServerMetadata, 'application/json; charset=utf-8'],
    [ENDPOINTS.openidConfiguration, 'application/json; charset=utf-8'],
    [ENDPOINTS.jwks, 'application/jwk-set+json'],
  ] as const) {
    const answer = await send(baseUrl + path)
    const { date: _date, etag = '', ...headers } = Object.fromEntries(answer.headers)
    t.strictSame(headers, {
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=300',
      connection: 'keep-alive',
      'content-length': String(Buffer.byteLength(answer.text)),
      'content-type': type,
      'keep-alive': 'timeout=5',
      vary: 'Origin',
    })
    t.match(etag, /^"[\w-]{43}"$/)
    const ask = async (tag: string, more = {}) =>
      (await send(baseUrl + path, { headers: { 'if-none-match': tag, ...more } })).status
    for (const tag of [etag, '*', `W/${etag}`, `"other", ${etag}`, `${etag},"other"`])
      t.equal(await ask(tag), 304, tag)
    t.equal(await ask(etag, { 'cache-control': 'no-cache' }), 304, 'also with no-cache')
    for (const tag of ['"other"', etag.slice(1), `w/${etag}`, `${etag}x`, '**'])
      t.equal(await ask(tag), 200, tag)
  }
})

t.test('the metadata is exactly the expected document', async (t) => {
  const { baseUrl } = await startEngine(t)
  const { json } = await send(baseUrl + ENDPOINTS.authorizationServerMetadata)
  t.strictSame(JSON.parse(JSON.stringify(json).replaceAll(baseUrl, 'https://as.test')), {
    issuer: 'https://as.test',
    authorization_endpoint: 'https://as.test/oauth/authorize',
    token_endpoint: 'https://as.test/api/oauth/token',
    jwks_uri: 'https://as.test/api/oauth/jwks',
    registration_endpoint: 'https://as.test/api/oauth/register',
    pushed_authorization_request_endpoint: 'https://as.test/api/oauth/par',
    introspection_endpoint: 'https://as.test/api/oauth/introspect',
    revocation_endpoint: 'https://as.test/api/oauth/revoke',
    userinfo_endpoint: 'https://as.test/api/oauth/userinfo',
    end_session_endpoint: 'https://as.test/oauth/logout',
    service_documentation: 'https://as.test/auth.md',
    ui_locales_supported: ['en', 'de'],
    protected_resources: ['https://as.test', 'https://as.test/mcp'],
    authorization_response_iss_parameter_supported: true,
    claim_types_supported: ['normal'],
    claims_parameter_supported: false,
    claims_supported: [
      ...['sub', 'auth_time', 'acr', 'amr', 'name', 'preferred_username'],
      ...['email', 'email_verified', 'sid', 'iss'],
    ],
    code_challenge_methods_supported: ['S256'],
    dpop_signing_alg_values_supported: ['ES256', 'ES384', 'PS256', 'RS256', 'EdDSA', 'Ed25519'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    id_token_signing_alg_values_supported: ['ES256', 'Ed25519', 'RS256'],
    introspection_endpoint_auth_methods_supported: ['client_secret_post'],
    request_uri_parameter_supported: false,
    response_modes_supported: ['query'],
    response_types_supported: ['code'],
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
    scopes_supported: ['openid', 'profile', 'email', 'courses:read', 'courses:write'],
    subject_types_supported: ['public'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
  })
})

t.test(
  'an error at the authorization endpoint is a page for browsers, and JSON for other clients',
  async (t) => {
    const { baseUrl, results } = await startEngine(t)
    const url = `${baseUrl}${ENDPOINTS.authorization}?client_id=unknown`
    const page = await send(url, { headers: HTML })
    t.strictSame(
      [page.status, page.headers.get('content-type'), page.text],
      [400, 'text/html; charset=utf-8', '<page>invalid_client: client is invalid</page>'],
    )
    const plain = await send(url)
    t.strictSame(
      [plain.status, plain.headers.get('content-type'), plain.json],
      [
        400,
        'application/json; charset=utf-8',
        { error: 'invalid_client', error_description: 'client is invalid' },
      ],
    )
    const token = await send(baseUrl + ENDPOINTS.token, { headers: HTML, form: { grant_type: 'x' } })
    t.match(token, { status: 400, json: { error: 'invalid_request' } }, 'JSON at another endpoint')
    t.strictSame(results, ['invalid_client', 'invalid_client', 'invalid_request'])
  },
)

t.test('the page of an expired interaction has its own error code', async (t) => {
  const { baseUrl } = await startEngine(t)
  const page = await send(`${baseUrl}${ENDPOINTS.authorization}/gone`, { headers: HTML })
  t.strictSame(
    [page.status, page.text],
    [400, '<page>interaction_expired: authorization request has expired</page>'],
  )
})

t.test('a registration returns exactly the stored metadata, with scope under its own name', async (t) => {
  const { baseUrl, rows } = await startEngine(t)
  const metadata = {
    redirect_uris: ['http://127.0.0.1:49152/callback'],
    client_name: 'An app',
    token_endpoint_auth_method: 'none',
    registered_scope: 'openid courses:read',
  }
  const answer = await send(baseUrl + ENDPOINTS.registration, { json: metadata })
  t.strictSame([answer.status, answer.headers.get('content-type')], [201, 'application/json; charset=utf-8'])
  const { client_id, client_id_issued_at, ...fields } = answer.json
  t.match([client_id, client_id_issued_at], [/^[\w-]{21,}$/, Number])
  const { registered_scope: scope, ...rest } = metadata
  t.strictSame(fields, {
    ...rest,
    scope,
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    id_token_signed_response_alg: 'ES256',
    require_auth_time: false,
    response_types: ['code'],
    subject_type: 'public',
    require_pushed_authorization_requests: false,
    dpop_bound_access_tokens: false,
  })
  const without = await send(baseUrl + ENDPOINTS.registration, {
    json: { redirect_uris: metadata.redirect_uris },
  })
  t.notOk('scope' in without.json)
  const [stored] = rows('Client').map(({ payload }) => parseObject(String(payload)))
  t.equal(stored?.['registered_scope'], scope)
})

t.test('§2.2 of RFC 7009: a revocation has an empty response', async (t) => {
  const on = await startEngine(t)
  const client = await registerClient(on)
  const tokens = await obtainTokens(on, client)
  for (const token of [tokens.accessToken, 'unknown']) {
    const answer = await client.revoke(token)
    t.strictSame(
      [answer.status, answer.text, answer.headers.get('content-type'), answer.headers.get('content-length')],
      [200, '', null, '0'],
    )
  }
  t.equal(await on.engine.findTokenOwner(tokens.accessToken), undefined)
  const rejected = await send(on.baseUrl + ENDPOINTS.revocation, { form: { token: 'x', client_id: 'no' } })
  t.match(rejected, { status: 401, json: { error: 'invalid_client' } })
})

t.test('an outage of the store causes 503 with Retry-After, and a defect causes 500', async (t) => {
  const on = await startEngine(t, {
    findAccount: async () => {
      throw new TypeError('a defect')
    },
  })
  const client = await registerClient(on)
  const browser = openBrowser(on.baseUrl)
  const authorizeUrl = client.authorizeUrl('openid', makePkce().challenge)
  const page = await browser.visit(authorizeUrl)
  const signedIn = page.left ? page : await browser.visit(`${page.url}/sign-in`)
  const { address } = parseObject(signedIn.left ? '' : signedIn.html)
  const defect = await browser.visit(String(address))
  t.match(defect, {
    status: 500,
    html: '<page>server_error: Internal error. Quote the request ID in reports.</page>',
  })
  t.equal(defect.left ? '' : defect.headers.get('retry-after'), null)
  t.equal(on.results.at(-1), 'server_error')

  await on.store.close()
  const answer = await client.refresh('x')
  t.strictSame(
    [answer.status, answer.headers.get('retry-after'), answer.headers.get('content-type'), answer.json],
    [
      503,
      '1',
      'application/json; charset=utf-8',
      {
        error: 'temporarily_unavailable',
        error_description: 'The authorization server cannot use its store. Try again in a moment.',
      },
    ],
  )
  const away = await send(authorizeUrl, { headers: HTML })
  t.strictSame(
    [away.status, away.headers.get('retry-after'), away.text],
    [
      503,
      '1',
      '<page>temporarily_unavailable: The authorization server cannot use its store. Try again in a moment.</page>',
    ],
  )
  t.strictSame(on.results.slice(-2), ['server_error', 'server_error'])
  t.equal((await send(on.baseUrl + ENDPOINTS.jwks)).status, 200)
  t.equal(on.results.at(-1), 'ok')
})

t.test('an ID token has exactly the claims of its scopes', async (t) => {
  const on = await startEngine(t, {
    findAccount: async (id) => ({
      username: 'carol',
      name: 'Carol',
      email: id === 'account-1' ? 'carol@example.com' : undefined,
    }),
  })
  const client = await registerClient(on)
  const { idToken } = await obtainTokens(on, client, { scope: 'openid profile email' })
  const { iat, exp, auth_time: _time, ...claims } = decode(idToken)
  t.strictSame(claims, {
    sub: 'account-1',
    name: 'Carol',
    preferred_username: 'carol',
    email: 'carol@example.com',
    aud: client.clientId,
    iss: on.baseUrl,
    amr: ['pwd'],
  })
  t.equal(Number(exp) - Number(iat), 900)
  const { sub, ...little } = decode((await obtainTokens(on, client, { scope: 'openid' })).idToken)
  t.strictSame([sub, 'name' in little, 'email' in little], ['account-1', false, false])
})

t.test('an ID token has the name and the verified address from the provider', async (t) => {
  const account = { username: 'company:x0Ae', name: 'Carol', email: 'carol@example.com', provider: 'company' }
  for (const [verified, claim] of [
    [{ emailVerified: true as const }, true],
    [{}, undefined],
  ] as const) {
    const on = await startEngine(t, { findAccount: async () => ({ ...account, ...verified }) })
    const { idToken } = await obtainTokens(on, await registerClient(on), { scope: 'openid profile email' })
    const claims = decode(idToken)
    t.match(claims, { name: 'Carol', preferred_username: undefined, email: 'carol@example.com' })
    t.equal(claims['email_verified'], claim)
  }
})

t.test('findTokenOwner() returns the owner of a token for this API, or undefined', async (t) => {
  const on = await startEngine(t)
  const client = await registerClient(on)
  const { accessToken, refreshToken } = await obtainTokens(on, client)
  const owner = {
    accountId: 'account-1',
    clientId: client.clientId,
    scopes: ['openid', 'courses:read'],
    keyThumbprint: undefined,
  }
  t.strictSame(await on.engine.findTokenOwner(accessToken), owner)
  t.equal(await on.engine.findTokenOwner(refreshToken), undefined)
  t.equal(await on.engine.findTokenOwner('unknown'), undefined)
  const other = await obtainTokens(on, client, { resource: `${on.baseUrl}/mcp` })
  t.equal(await on.engine.findTokenOwner(other.accessToken), undefined, 'of another resource')

  const token = { ...(await on.store.artifacts('AccessToken').find(accessToken)) }
  const change = (fields: object) =>
    on.store.artifacts('AccessToken').upsert(accessToken, { ...token, ...fields }, 900)
  for (const fields of [
    { accountId: 'account-2' },
    { grantId: undefined },
    { grantId: 'unknown' },
    { clientId: undefined },
    { exp: 1 },
  ]) {
    await change(fields)
    t.equal(await on.engine.findTokenOwner(accessToken), undefined, JSON.stringify(fields))
  }
  await change({})
  t.strictSame(await on.engine.findTokenOwner(accessToken), owner)
  await on.store.artifacts('Client').destroy(client.clientId)
  t.equal(await on.engine.findTokenOwner(accessToken), undefined, 'the client was deleted')
})

t.test('findGrantedResources() reads a code or a refresh token of its client', async (t) => {
  const on = await startEngine(t)
  const client = await registerClient(on)
  const mcp = `${on.baseUrl}/mcp`
  const { code, verifier } = await obtainCode(client, openBrowser(on.baseUrl), { resource: mcp })
  t.same(await on.engine.findGrantedResources({ code }, client.clientId), [mcp])
  t.equal(await on.engine.findGrantedResources({ code }, 'other'), undefined)
  t.equal(await on.engine.findGrantedResources({ code: 'unknown' }, client.clientId), undefined)
  const { refreshToken } = client.readTokens(await client.exchange({ code, verifier }))
  t.same(await on.engine.findGrantedResources({ refreshToken }, client.clientId), [mcp])
  t.equal(await on.engine.findGrantedResources({ refreshToken }, 'other'), undefined)
  t.equal(await on.engine.findGrantedResources({ refreshToken: code }, client.clientId), undefined)
})

t.test('verifyProof() accepts a proof for its path once', async (t) => {
  const on = await startEngine(t)
  const key = aProofKey()
  const url = `${on.baseUrl}${ENDPOINTS.userinfo}`
  const request = { method: 'GET', accessToken: 'token', keyThumbprint: key.thumbprint }
  const verify = (proof: string, path: string = ENDPOINTS.userinfo) =>
    on.engine.verifyProof(proof, { ...request, path })
  const proof = aProof({ key, url, token: 'token' })
  t.equal(await verify(proof), 'valid')
  t.equal(await verify(proof), 'invalid')
  t.equal(await verify(aProof({ key, url, token: 'token' }), '/other'), 'invalid')
  const claims = { jti: 'one id for two paths' }
  t.equal(await verify(aProof({ key, url, token: 'token', claims })), 'valid')
  const other = aProof({ key, url: `${on.baseUrl}/other`, token: 'token', claims })
  t.equal(await verify(other, '/other'), 'valid', 'an ID is used once for each path')
})

t.test(
  '§11.1 of RFC 9449: the ID of a proof at the token endpoint is stored until no replica accepts the proof',
  async (t) => {
    const on = await startEngine(t)
    const client = await registerClient(on)
    const { code, verifier } = await obtainCode(client, openBrowser(on.baseUrl))
    const nowMs = Date.now()
    t.intercept(Date, 'now', { value: () => nowMs })
    const url = on.baseUrl + ENDPOINTS.token
    const form = {
      grant_type: 'authorization_code',
      client_id: client.clientId,
      redirect_uri: client.redirectUri,
      code,
      code_verifier: verifier,
    }
    const dpop = aProof({ key: aProofKey(), url, method: 'POST', token: '' })
    t.match(await send(url, { form, headers: { dpop } }), { status: 200, json: { token_type: 'DPoP' } })
    t.strictSame(
      on.rows('ReplayDetection').map((row) => row['expires_at']),
      [Math.floor(nowMs / 1_000) + 660],
    )
  },
)

t.test('an event has the origin of its request, and a repeated refresh is a separate event', async (t) => {
  const on = await startEngine(t)
  const client = await registerClient(on)
  const { refreshToken } = await obtainTokens(on, client)
  on.events.length = 0
  for (let i = 0; i < 2; i++) t.equal((await client.refresh(refreshToken)).status, 200)
  const origin = { requestId: 'request-1', clientAddress: '192.0.2.7' }
  t.match(on.events, [
    { kind: 'token_refreshed', origin },
    { kind: 'refresh_repeated', origin },
  ])
  t.equal(on.events.length, 2)
})

t.test('a reused code is reported with its account, unless another client used it', async (t) => {
  const on = await startEngine(t)
  const [client, other] = [await registerClient(on), await registerClient(on)]
  const grant = await obtainCode(client, openBrowser(on.baseUrl))
  await client.exchange(grant)
  on.events.length = 0
  await other.exchange(grant)
  t.match(on.events, [{ kind: 'rejected', error: 'invalid_grant', clientId: other.clientId }])
  await client.exchange(grant)
  t.match(on.events.slice(1), [
    { kind: 'grant_revoked', reason: 'code_reused', accountId: 'account-1', clientId: client.clientId },
    { kind: 'rejected', error: 'invalid_grant' },
  ])
})

t.test('the number of unfinished requests per address is limited, and unused clients expire', async (t) => {
  const on = await startEngine(t, { pending: { perAddress: 2, total: 2 }, unusedClientSeconds: 70 })
  const client = await registerClient(on)
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const [row] = on.rows('Client')
  const left = Number(row?.['expires_at']) - nowSeconds
  t.ok(left >= 68 && left <= 70, `${left} s`)
  for (let i = 0; i < 3; i++) await send(client.authorizeUrl('openid', makePkce().challenge))
  t.equal(on.rows('Interaction').length, 2)
  t.match(on.rows('Interaction'), [{ address: /^[\w-]{43}$/ }, { address: /^[\w-]{43}$/ }])
})

t.test('a pushed request is reported with its request_uri', async (t) => {
  const pushed: string[] = []
  const on = await startEngine(t, {}, { onPushed: (uri) => pushed.push(uri) })
  const client = await registerClient(on)
  const form = Object.fromEntries(client.authorizeUrl('openid', makePkce().challenge).searchParams)
  const answer: Answer = await send(on.baseUrl + ENDPOINTS.pushedAuthorizationRequest, { form })
  t.equal(answer.status, 201)
  t.strictSame(pushed, [answer.json['request_uri']])
})
