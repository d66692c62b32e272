// These tests run each case with opaque tokens and with JWTs: introspection, revocation, userinfo, refresh and proof of
// possession.
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import t, { type Test } from 'tap'
import type { AuthorizationServerConfig } from '../../authorization-server/config.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../authorization-server/store/sqlite-store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { introspect } from '../fixtures/introspect.ts'
import { aKey } from '../fixtures/jwk.ts'
import { macJws, part, signJws } from '../fixtures/jws.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { type Client, registerClient, type Tokens } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'
import { TOKEN_SETTINGS } from '../fixtures/token-settings.ts'

const SCOPE = 'openid courses:read courses:write'

type Format = Omit<AuthorizationServerConfig['accessTokens'], 'resources'>

const FORMATS: Readonly<Record<string, Format>> = {
  opaque: { format: 'opaque', algorithm: 'ES256' },
  'JWT with ES256': { format: 'jwt', algorithm: 'ES256' },
  'JWT with EdDSA': { format: 'jwt', algorithm: 'EdDSA' },
}

const LIFETIMES = {
  codeSeconds: 60,
  accessTokenSeconds: 900,
  refreshTokenSeconds: 1_200,
  sessionSeconds: 1_200,
}

/** Starts a server with two resources: the complete API, and `/mcp`. */
async function start(t: Test, format: Format, changes: Partial<AuthorizationServerConfig> = {}) {
  const port = await quietPort()
  const issuer = `http://127.0.0.1:${port}`
  return startServer(t, {
    issuer,
    listen: { host: '127.0.0.1', port },
    resources: [issuer, `${issuer}/mcp`],
    accessTokens: { ...format, resources: new Map() },
    ...changes,
  })
}

type Situation = {
  readonly t: Test
  readonly server: AuthorizationServer
  readonly client: Client
  readonly tokens: Tokens
  readonly grant: { readonly code: string; readonly verifier: string }
}

function withStore(
  { t, server }: Situation,
  change: (store: ReturnType<typeof openSqliteStore>) => Promise<unknown>,
): Promise<unknown> {
  const store = openSqliteStore(join(server.dataDir, SQLITE_FILE_NAME), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  return change(store)
}

const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

function passTime(t: Test, seconds: number): void {
  const nowMs = Date.now() + seconds * 1_000
  t.intercept(Date, 'now', { value: () => nowMs })
}

/** Changes. `isActive`: whether the access token is active after the change. */
const CASES: readonly (readonly [name: string, isActive: boolean, change: (s: Situation) => unknown])[] = [
  ['a new token', true, () => undefined],
  ['its revocation', false, ({ client, tokens }) => client.revoke(tokens.accessToken)],
  ['the revocation of its refresh token', false, ({ client, tokens }) => client.revoke(tokens.refreshToken)],
  [
    'its revocation with a wrong hint',
    false,
    ({ server, client, tokens }) =>
      send(server.baseUrl + ENDPOINTS.revocation, {
        form: {
          token: tokens.accessToken,
          token_type_hint: 'refresh_token',
          client_id: client.clientId,
        },
      }),
  ],
  [
    'its revocation by another client',
    true,
    async ({ server, tokens }) => (await registerClient(server)).revoke(tokens.accessToken),
  ],
  [
    'a refresh',
    true,
    async ({ client, tokens }) => client.readTokens(await client.refresh(tokens.refreshToken)),
  ],
  ['a second use of its code', false, ({ client, grant }) => client.exchange(grant)],
  [
    'a second use of its refresh token by another client',
    false,
    async ({ server, client, tokens }) => {
      client.readTokens(await client.refresh(tokens.refreshToken))
      await (await registerClient(server)).refresh(tokens.refreshToken)
    },
  ],
  [
    'the removal of its client',
    false,
    (situation) =>
      withStore(situation, (store) => store.artifacts('Client').destroy(situation.client.clientId)),
  ],
  ['its last second', true, ({ t }) => passTime(t, 895)],
  ['its expiry', false, ({ t }) => passTime(t, 901)],
  // The removal must be the last case, because the other cases need the account.
  [
    'the removal of its account',
    false,
    (situation) =>
      withStore(situation, async (store) =>
        store.accounts.remove((await store.accounts.findByUsername('alice'))?.id ?? ''),
      ),
  ],
]

for (const [name, format] of Object.entries(FORMATS))
  t.test(`${name}: introspection and userinfo agree after each change`, async (t) => {
    const server = await start(t, format)
    for (const [what, isActive, change] of CASES)
      await t.test(what, async (t) => {
        const client = await registerClient(server)
        const grant = await client.obtainCode({ browser: openBrowser(server.baseUrl), scope: SCOPE })
        const tokens = client.readTokens(await client.exchange(grant))
        t.equal(tokens.accessToken.split('.').length, format.format === 'jwt' ? 3 : 1)
        await change({ t, server, client, tokens, grant })
        const result = await introspect(server, tokens.accessToken)
        if (isActive) t.match(result, { active: true, client_id: client.clientId, scope: SCOPE })
        else t.strictSame(result, { active: false })
        t.match(await userinfo(server, tokens.accessToken), isActive ? { status: 200 } : UNAUTHORIZED)
      })
  })

const UNAUTHORIZED = { status: 401, json: { error: 'invalid_token' } }

function userinfo({ baseUrl }: AuthorizationServer, token: string): Promise<Answer> {
  return send(baseUrl + ENDPOINTS.userinfo, { token })
}

for (const [name, format] of Object.entries(FORMATS))
  t.test(`${name}: introspection returns the same members`, async (t) => {
    const server = await start(t, format)
    const client = await registerClient(server)
    const browser = openBrowser(server.baseUrl)
    const asking = { browser, scope: SCOPE, overrides: { resource: `${server.baseUrl}/mcp` } }
    const { accessToken, refreshToken } = await client.obtainTokens(asking)
    const {
      sub,
      iat,
      exp,
      grant,
      jti,
      auth_time: authTime,
      ...others
    } = await introspect(server, accessToken)
    t.strictSame(others, {
      active: true,
      client_id: client.clientId,
      iss: server.baseUrl,
      aud: `${server.baseUrl}/mcp`,
      scope: SCOPE,
      amr: ['pwd'],
      token_type: 'Bearer',
    })
    t.match(sub, /^[\w-]+$/)
    t.equal(Number(exp) - Number(iat), 900)
    t.match(grant, /^[\w-]{43}$/)
    t.type(authTime, 'number')
    if (format.format === 'opaque') t.equal(jti, undefined)
    else t.match(jti, /^[\w-]{43}\.[\w-]{21,}$/)
    t.match(await userinfo(server, accessToken), UNAUTHORIZED, 'the token is for another resource')

    const narrower = client.readTokens(await client.refresh(refreshToken, { scope: 'courses:read' }))
    t.match(await introspect(server, narrower.accessToken), {
      scope: 'courses:read',
      grant,
      aud: others['aud'],
    })
    const wider = await client.refresh(narrower.refreshToken, { scope: 'courses:read students:read' })
    t.match(wider, { status: 400, json: { error: 'invalid_scope' } })
  })

for (const [name, format] of Object.entries(FORMATS))
  t.test(`${name}: a repeated refresh gets the same response`, async (t) => {
    const server = await start(t, format)
    const client = await registerClient(server)
    const tokens = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: SCOPE })
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.refresh(tokens.refreshToken)))
    t.strictSame(
      [...new Set(answers.map(({ status, text }) => `${status} ${text}`))],
      [`200 ${answers[0]?.text}`],
    )
    const { accessToken } = client.readTokens(answers[0] as Answer)
    t.match(await introspect(server, accessToken), { active: true })
  })

for (const [name, format] of Object.entries(FORMATS))
  t.test(`${name}: a sender-constrained token needs a proof that is signed with its key`, async (t) => {
    const server = await start(t, format)
    const client = await registerClient(server)
    const { code, verifier } = await client.obtainCode({ browser: openBrowser(server.baseUrl), scope: SCOPE })
    const key = aProofKey()
    const url = server.baseUrl + ENDPOINTS.token
    const answer = await send(url, {
      headers: { dpop: aProof({ key, url, method: 'POST', token: '' }) },
      form: {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: client.redirectUri,
        client_id: client.clientId,
      },
    })
    t.match(answer, { status: 200, json: { token_type: 'DPoP' } })
    const { accessToken: token } = client.readTokens(answer)
    t.match(await introspect(server, token), { token_type: 'DPoP', cnf: { jkt: key.thumbprint } })
    const address = server.baseUrl + ENDPOINTS.userinfo
    const proven = (by = key) =>
      send(address, {
        headers: { authorization: `DPoP ${token}`, dpop: aProof({ key: by, url: address, token }) },
      })
    t.match(await proven(), { status: 200 })
    t.match(await proven(aProofKey()), UNAUTHORIZED)
    t.match(await userinfo(server, token), UNAUTHORIZED, 'as Bearer')
  })

for (const [name, format] of Object.entries(FORMATS))
  t.test(`${name}: an access token expires with its grant at the latest`, async (t) => {
    const server = await start(t, format, { lifetimes: { ...LIFETIMES, refreshTokenMaxSeconds: 1_200 } })
    const client = await registerClient(server)
    const { refreshToken } = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: SCOPE })
    const endSeconds = nowSeconds() + 1_200
    passTime(t, 1_140)
    const answer = await client.refresh(refreshToken)
    const { accessToken } = client.readTokens(answer)
    const { exp } = await introspect(server, accessToken)
    t.ok(Number(exp) <= endSeconds, 'the token expires with the grant')
    t.ok(Number(answer.json['expires_in']) <= 60)
  })

t.test('§2 of RFC 9068: a JWT access token has exactly the expected header and claims', async (t) => {
  for (const algorithm of ['ES256', 'EdDSA'] as const) {
    const server = await start(t, { format: 'jwt', algorithm })
    const client = await registerClient(server)
    const before = nowSeconds()
    const { accessToken, refreshToken } = await client.obtainTokens({
      browser: openBrowser(server.baseUrl),
      scope: SCOPE,
    })
    const { keys } = (await send(server.baseUrl + ENDPOINTS.jwks)).json as { keys: readonly JsonWebKey[] }
    const alg = algorithm === 'ES256' ? 'ES256' : 'Ed25519'
    const published = keys.find((key) => key['alg'] === alg)
    t.strictSame({ ...decodeProtectedHeader(accessToken) }, { alg, typ: 'at+jwt', kid: published?.['kid'] })
    const { sub, iat, exp, jti, grant, auth_time: authTime, ...claims } = decodeJwt(accessToken)
    t.strictSame(claims, {
      iss: server.baseUrl,
      aud: server.baseUrl,
      client_id: client.clientId,
      scope: SCOPE,
      amr: ['pwd'],
    })
    t.ok(Number(iat) >= before)
    t.equal(Number(exp) - Number(iat), 900)
    t.ok(Number(authTime) >= before - 1 && Number(authTime) <= Number(iat))
    t.match(await introspect(server, accessToken), { sub, iat, exp, jti, grant, auth_time: authTime })

    const renewed = decodeJwt(client.readTokens(await client.refresh(refreshToken)).accessToken)
    t.match(renewed, { sub, grant, auth_time: authTime }, 'the sign-in stays the same after a refresh')
    t.not(renewed.jti, jti)
  }
})

t.test('the server stores no JWT access token', async (t) => {
  const server = await start(t, { format: 'jwt', algorithm: 'ES256' })
  const client = await registerClient(server)
  const tokens = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: SCOPE })
  client.readTokens(await client.refresh(tokens.refreshToken))
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME), { readOnly: true })
  t.teardown(() => database.close())
  const count = (model: string) =>
    database.prepare('select count(*) as n from artifacts where model = ?').get(model)?.['n']
  t.strictSame([count('AccessToken'), count('RefreshToken'), count('Grant')], [0, 2, 1])
})

t.test('accessTokens.resources selects the format of one resource', async (t) => {
  const port = await quietPort()
  const issuer = `http://127.0.0.1:${port}`
  const mcp = `${issuer}/mcp`
  const server = await start(t, FORMATS['opaque'] as Format, {
    issuer,
    listen: { host: '127.0.0.1', port },
    resources: [issuer, mcp],
    accessTokens: { format: 'opaque', algorithm: 'ES256', resources: new Map([[mcp, 'jwt']]) },
  })
  const client = await registerClient(server)
  const browser = openBrowser(server.baseUrl)
  const opaque = await client.obtainTokens({ browser, scope: SCOPE })
  const jwt = await client.obtainTokens({ browser, scope: SCOPE, overrides: { resource: mcp } })
  t.notMatch(opaque.accessToken, '.')
  t.equal(decodeProtectedHeader(jwt.accessToken).typ, 'at+jwt')
  for (const { accessToken } of [opaque, jwt]) {
    t.match(await introspect(server, accessToken), { active: true })
    t.equal((await client.revoke(accessToken)).status, 200)
    t.strictSame(await introspect(server, accessToken), { active: false })
  }
})

t.test('a JWT that was issued before a change to opaque tokens stays valid and revocable', async (t) => {
  const first = await start(t, { format: 'jwt', algorithm: 'ES256' })
  const client = await registerClient(first)
  const { accessToken } = await client.obtainTokens({ browser: openBrowser(first.baseUrl), scope: SCOPE })
  await first.stop()
  const second = await start(t, FORMATS['opaque'] as Format, {
    issuer: first.baseUrl,
    resources: [first.baseUrl],
    listen: { host: '127.0.0.1', port: first.port },
    dataDir: first.dataDir,
  })
  t.match(await introspect(second, accessToken), { active: true })
  t.match(await userinfo(second, accessToken), { status: 200 })
  t.equal((await client.revoke(accessToken)).status, 200)
  t.strictSame(await introspect(second, accessToken), { active: false })
})

t.test('§2.1 of RFC 7009: an expired JWT can be revoked for five minutes after its expiry', async (t) => {
  for (const [seconds, status] of [
    [1_195, 400],
    [1_205, 200],
  ] as const) {
    const server = await start(t, { format: 'jwt', algorithm: 'ES256' })
    const client = await registerClient(server)
    const tokens = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: SCOPE })
    await t.test(`${seconds} s after the issue`, async (t) => {
      passTime(t, seconds)
      t.equal((await client.revoke(tokens.accessToken)).status, 200)
      const answer = await client.refresh(tokens.refreshToken)
      t.equal(answer.status, status)
      if (status === 200) client.readTokens(answer)
    })
  }
})

t.test(
  '§2.2 of RFC 7662: a forged or foreign JWT is inactive, and its revocation changes nothing',
  async (t) => {
    const server = await start(t, { format: 'jwt', algorithm: 'ES256' })
    const client = await registerClient(server)
    const browser = openBrowser(server.baseUrl)
    const tokens = await client.obtainTokens({ browser, scope: SCOPE })
    const other = await client.obtainTokens({ browser, scope: SCOPE })
    const { accessToken } = tokens
    const { alg, kid } = decodeProtectedHeader(accessToken)
    const claims = decodeJwt(accessToken)
    const keys = privateKeysOf(server)
    const own = keys['ES256'] as KeyObject
    const header = { alg, typ: 'at+jwt', kid }
    const { keys: published } = (await send(server.baseUrl + ENDPOINTS.jwks)).json as {
      keys: readonly JsonWebKey[]
    }
    const signed = (change: object, head: object = {}): string =>
      signJws({ ...header, ...head }, { ...claims, ...change }, own)
    t.match(await introspect(server, signed({ iat: 1 })), { active: true }, 'the control: the same claims')

    const [head = '', body = '', signature = ''] = accessToken.split('.')
    const forged: Readonly<Record<string, string>> = {
      'alg none': `${part({ alg: 'none', typ: 'at+jwt' })}.${body}.`,
      'alg none with the signature': `${part({ alg: 'none', typ: 'at+jwt' })}.${body}.${signature}`,
      'no signature': `${head}.${body}.`,
      'another signature': `${head}.${body}.${signature.slice(0, -6)}AAAAAA`,
      'other claims': `${head}.${part({ ...claims, scope: 'openid students:write' })}.${signature}`,
      'another key': signJws(header, claims, aKey('ES256', String(kid)).privateKey),
      'another key in the header': signJws(
        { ...header, kid: undefined, jwk: aKey('ES256', 'x').jwk },
        claims,
        aKey('ES256', 'x').privateKey,
      ),
      'HS256 with the public key': macJws(
        { ...header, alg: 'HS256' },
        claims,
        createPublicKey(own).export({ type: 'spki', format: 'pem' }),
      ),
      'RS256 with the key of ID tokens': signJws(
        { alg: 'RS256', typ: 'at+jwt' },
        claims,
        keys['RS256'] as KeyObject,
      ),
      'an unknown kid': signed({}, { kid: 'unknown' }),
      'the kid of another key': signed(
        {},
        { kid: published.find((key) => key['alg'] === 'Ed25519')?.['kid'] },
      ),
      'typ JWT': signed({}, { typ: 'JWT' }),
      'no typ': signed({}, { typ: undefined }),
      'an unknown critical header': signed({}, { crit: ['x'], x: 1 }),
      'another issuer': signed({ iss: 'https://login.example.com' }),
      'no issuer': signed({ iss: undefined }),
      'another audience': signed({ aud: 'https://api.example.com' }),
      'several audiences': signed({ aud: [server.baseUrl, `${server.baseUrl}/mcp`] }),
      'no audience': signed({ aud: undefined }),
      expired: signed({ exp: nowSeconds() - 1_000 }),
      'no exp': signed({ exp: undefined }),
      'no sub': signed({ sub: undefined }),
      'no client_id': signed({ client_id: undefined }),
      'another client_id': signed({ client_id: 'gateway' }),
      'no jti': signed({ jti: undefined }),
      'no grant': signed({ grant: undefined }),
      'the grant of another token': signed({ grant: decodeJwt(other.accessToken)['grant'] }),
      'an ID token': tokens.idToken ?? '',
      'a JWT header alone': head,
      'jti alone': String(claims.jti),
      'the last part of jti alone': String(claims.jti).split('.')[1] ?? '',
      'the name of presented JWTs': 'presented-jwt',
    }
    for (const [what, token] of Object.entries(forged)) {
      t.strictSame(await introspect(server, token), { active: false }, what)
      const answer = await client.revoke(token)
      t.strictSame([answer.status, answer.text], [200, ''], what)
      const response = await userinfo(server, token)
      t.match(response, UNAUTHORIZED, what)
      t.match(response.headers.get('www-authenticate'), /^Bearer error="invalid_token"/, what)
    }
    t.match(await introspect(server, accessToken), { active: true }, 'no revocation ended the grant')
    t.match(await introspect(server, other.accessToken), { active: true })
  },
)

t.test('a confidential client can introspect only its own JWTs', async (t) => {
  const server = await start(t, { format: 'jwt', algorithm: 'ES256' })
  const own = await registerClient(server, { token_endpoint_auth_method: 'client_secret_post' })
  const other = await registerClient(server, { token_endpoint_auth_method: 'client_secret_post' })
  const { accessToken } = await own.obtainTokens({ browser: openBrowser(server.baseUrl), scope: SCOPE })
  const ask = (client: Client, token: string | readonly string[]) =>
    send(server.baseUrl + ENDPOINTS.introspection, {
      form: { token, client_id: client.clientId, client_secret: client.clientSecret },
    })
  t.match((await ask(own, accessToken)).json, { active: true })
  t.strictSame((await ask(other, accessToken)).json, { active: false })
  t.match(await ask(own, [accessToken, accessToken]), { status: 400, json: { error: 'invalid_request' } })
})

/** Returns the private keys of a server by their algorithm. */
function privateKeysOf({ dataDir }: AuthorizationServer): Readonly<Record<string, KeyObject>> {
  const { keys } = JSON.parse(readFileSync(join(dataDir, 'signing-keys.json'), 'utf8')) as {
    keys: readonly JsonWebKey[]
  }
  return Object.fromEntries(keys.map((key) => [String(key['alg']), createPrivateKey({ key, format: 'jwk' })]))
}
