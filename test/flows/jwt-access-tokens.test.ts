// Gateways verify JWT access tokens of the bundled authorization server locally.
import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oauth from 'oauth4webapi'
import t, { type Test } from 'tap'
import type { AuthorizationServerConfig } from '../../authorization-server/config.ts'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../oauth/endpoints.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { part, signJws } from '../fixtures/jws.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

type Algorithm = 'ES256' | 'EdDSA'

function startJwtServer(
  t: Test,
  changes: Partial<AuthorizationServerConfig> = {},
  algorithm: Algorithm = 'ES256',
): Promise<AuthorizationServer> {
  return startServer(t, { accessTokens: { format: 'jwt', algorithm, resources: new Map() }, ...changes })
}

/** The gateway verifies the JWTs of the server locally, and introspects opaque tokens at the server. */
function startGateway(
  t: Test,
  { baseUrl, gatewaySecret }: AuthorizationServer,
  changes: Partial<GatewayConfig> = {},
): Promise<GatewayUnderTest> {
  const { jwt } = aJwtIssuerConfig(baseUrl, {
    algorithms: ['ES256', 'EdDSA', 'Ed25519'],
    keys: { by: 'uri', uri: baseUrl + ENDPOINTS.jwks },
  })
  return startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      baseUrl,
      issuers: config.issuers.map((issuer) => ({
        ...issuer,
        issuer: baseUrl,
        jwt,
        introspection: issuer.introspection && {
          ...issuer.introspection,
          endpoint: baseUrl + ENDPOINTS.introspection,
          clientSecret: gatewaySecret,
        },
        revocations: baseUrl + REVOCATION_STREAM_PATH,
      })),
      ...changes,
    }),
  })
}

async function obtain(server: AuthorizationServer, scope = 'openid courses:read') {
  const client = await registerClient(server)
  const tokens = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope })
  return { client, ...tokens }
}

function call({ gateway }: GatewayUnderTest, token: string, method = 'GET'): Promise<Answer> {
  return send(`${gateway.url}/api/courses`, { token, method })
}

async function introspections({ gateway }: GatewayUnderTest): Promise<number> {
  const { text } = await send(`${gateway.managementUrl}/metrics`)
  return [...text.matchAll(/^scopegate_introspections_total\{[^}]*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  )
}

const INVALID = { status: 401, json: { error: 'invalid_token' } }

for (const algorithm of ['ES256', 'EdDSA'] as const)
  t.test(`a gateway verifies a JWT with ${algorithm} without introspection`, async (t) => {
    const server = await startJwtServer(t, {}, algorithm)
    const under = await startGateway(t, server)
    const { accessToken, client } = await obtain(server)
    t.match(await call(under, accessToken), { status: 200 })
    const [request] = under.upstream.requests
    const identity = new Map(request?.headers.filter(([name]) => name.startsWith('x-auth-')))
    t.strictSame(Object.fromEntries(identity), {
      'x-auth-subject': decodeJwt(accessToken).sub,
      'x-auth-client-id': client.clientId,
      'x-auth-scope': 'openid courses:read',
      'x-auth-issuer': server.baseUrl,
    })
    const denied = await call(under, accessToken, 'POST')
    t.match(denied, { status: 403, json: { error: 'insufficient_scope' } })
    t.match(
      denied.headers.get('www-authenticate'),
      /^Bearer error="insufficient_scope".*scope="courses:write"/,
    )
    t.equal(await introspections(under), 0)
  })

t.test(
  '§4 of RFC 9068: a resource server verifies a JWT access token with the keys of the metadata',
  async (t) => {
    const server = await startJwtServer(t)
    const { accessToken, client } = await obtain(server)
    const insecure = { [oauth.allowInsecureRequests]: true } as const
    const issuer = new URL(server.baseUrl)
    const found = await oauth.discoveryRequest(issuer, insecure)
    const metadata = await oauth.processDiscoveryResponse(issuer, found)
    const request = new Request(server.baseUrl, { headers: { authorization: `Bearer ${accessToken}` } })
    const claims = await oauth.validateJwtAccessToken(metadata, request, server.baseUrl, insecure)
    t.match(claims, { client_id: client.clientId, scope: 'openid courses:read' })
  },
)

t.test('a revocation reaches every gateway, for tokens with and without a cache entry', async (t) => {
  const server = await startJwtServer(t)
  const gateways = [await startGateway(t, server), await startGateway(t, server)]
  const { client, accessToken, refreshToken } = await obtain(server)
  for (const under of gateways) t.match(await call(under, accessToken), { status: 200 })
  const renewed = client.readTokens(await client.refresh(refreshToken))
  const other = await obtain(server)
  t.equal((await client.revoke(accessToken)).status, 200)
  for (const under of gateways) {
    await until('revoked', async () => (await call(under, accessToken)).status === 401)
    for (const token of [accessToken, renewed.accessToken]) {
      const answer = await call(under, token)
      t.match(answer, INVALID)
      t.match(answer.headers.get('www-authenticate'), /^Bearer error="invalid_token"/)
    }
    t.match(await call(under, other.accessToken), { status: 200 }, 'another grant')
    t.equal(await introspections(under), 0)
  }
})

t.test('a gateway that starts after a revocation rejects the token', async (t) => {
  const server = await startJwtServer(t)
  const { client, accessToken } = await obtain(server)
  const other = await obtain(server)
  await client.revoke(accessToken)
  const under = await startGateway(t, server)
  t.match(await call(under, accessToken), INVALID)
  t.match(await call(under, other.accessToken), { status: 200 })
})

t.test('gateways accept JWTs without a cache entry while the authorization server is down', async (t) => {
  const server = await startJwtServer(t)
  const gateways = [await startGateway(t, server), await startGateway(t, server)]
  const jwts = [await obtain(server), await obtain(server)]
  await server.stop()
  for (const under of gateways) {
    for (const { accessToken } of jwts) {
      t.match(await call(under, accessToken), { status: 200 })
      t.match(await call(under, accessToken, 'POST'), { status: 403, json: { error: 'insufficient_scope' } })
    }
    t.match(await call(under, 'an-opaque-token'), { status: 503 }, 'needs introspection')
    const { status, text } = await send(`${under.gateway.managementUrl}/readyz?verbose`)
    t.equal(status, 200)
    t.match(text, /revocations of .*not connected/)
  }
})

t.test('while server and Redis are down, gateways accept JWTs, except the revoked JWT', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(() => redis.stop())
  const server = await startJwtServer(t, { store: { type: 'redis' }, redis: { url: redis.url } })
  const gateways = await Promise.all([1, 2].map(() => startGateway(t, server, { redis: { url: redis.url } })))
  const revoked = await obtain(server)
  const jwts = [await obtain(server), await obtain(server)]
  await revoked.client.revoke(revoked.accessToken)
  for (const under of gateways)
    await until('revoked', async () => (await call(under, revoked.accessToken)).status === 401)
  await server.stop()
  await redis.stop()
  for (const under of gateways) {
    for (const { accessToken } of jwts) t.match(await call(under, accessToken), { status: 200 })
    t.match(await call(under, revoked.accessToken), INVALID)
  }
})

t.test('a gateway accepts a sender-constrained JWT only with a proof by its key', async (t) => {
  const server = await startJwtServer(t)
  const under = await startGateway(t, server)
  const client = await registerClient(server)
  const browser = openBrowser(server.baseUrl)
  const { code, verifier } = await client.obtainCode({ browser, scope: 'courses:read' })
  const key = aProofKey()
  const endpoint = server.baseUrl + ENDPOINTS.token
  const { accessToken: token } = client.readTokens(
    await send(endpoint, {
      headers: { dpop: aProof({ key, url: endpoint, method: 'POST', token: '' }) },
      form: {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: client.redirectUri,
        client_id: client.clientId,
      },
    }),
  )
  const url = `${server.baseUrl}/api/courses`
  const proven = (by = key) =>
    send(`${under.gateway.url}/api/courses`, {
      headers: { authorization: `DPoP ${token}`, dpop: aProof({ key: by, url, token }) },
    })
  t.match(await proven(), { status: 200 })
  t.match(await proven(aProofKey()), INVALID)
  t.match(await call(under, token), INVALID, 'as Bearer')
})

t.test('forged and foreign JWTs get 401 with the reason', async (t) => {
  const server = await startJwtServer(t)
  const under = await startGateway(t, server)
  const { accessToken, idToken = '' } = await obtain(server)
  const { alg, kid } = decodeProtectedHeader(accessToken)
  const claims = decodeJwt(accessToken)
  const { keys } = JSON.parse(readFileSync(join(server.dataDir, 'signing-keys.json'), 'utf8')) as {
    keys: readonly JsonWebKey[]
  }
  const own = createPrivateKey({ key: keys.find((key) => key['alg'] === 'ES256') ?? {}, format: 'jwk' })
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const header = { alg, typ: 'at+jwt', kid }
  const signed = (change: object): string => signJws(header, { ...claims, ...change }, own)
  t.match(await call(under, signed({ iat: claims.iat })), { status: 200 }, 'the control: the same claims')
  const [, body = '', signature = ''] = accessToken.split('.')
  const rows: Readonly<Record<string, readonly [token: string, description: RegExp]>> = {
    'alg none': [
      `${part({ ...header, alg: 'none' })}.${body}.${signature}`,
      /algorithm that this API does not allow/,
    ],
    'alg none without a signature': [`${part({ ...header, alg: 'none' })}.${body}.`, /is malformed/],
    'another key': [signJws(header, claims, other), /signature of the access token is not valid/],
    'an unknown kid': [
      signJws({ ...header, kid: 'unknown' }, claims, other),
      /key that its issuer does not publish/,
    ],
    'an ID token': [idToken, /not an access token/],
    'typ JWT': [signJws({ ...header, typ: 'JWT' }, claims, own), /not an access token/],
    'another issuer': [signed({ iss: 'https://login.example.com' }), /issuer that this API does not trust/],
    'another audience': [signed({ aud: `${server.baseUrl}/mcp` }), /meant for another resource/],
    expired: [signed({ exp: Math.floor(Date.now() / 1_000) - 100 }), /expired 1 minute ago/],
  }
  for (const [what, [token, description]] of Object.entries(rows)) {
    const answer = await call(under, token)
    t.match(answer, { ...INVALID, json: { error: 'invalid_token', error_description: description } }, what)
    t.match(answer.headers.get('www-authenticate'), /^Bearer error="invalid_token"/, what)
  }
})
