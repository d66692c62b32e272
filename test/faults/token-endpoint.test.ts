import { createPublicKey } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import type { CredentialConfig } from '../../gateway/upstreams/credentials/open-access.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { aKey } from '../fixtures/jwk.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import {
  sendJson,
  startTokenEndpoint,
  type TokenEndpoint,
  tokenResponse,
} from '../fixtures/token-endpoint.ts'
import { until } from '../fixtures/until.ts'

t.jobs = 4 // each test starts its own gateway and needs little CPU time

const SECRET = 'the-client-secret-for-the-token-endpoint'
const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
defaults: { anonymous: allow, timeout: 20s }
routes:
  - { name: open, match: { methods: [GET, POST], path: "/pub/**" } }
  - { name: forwarded, match: { methods: [GET], path: /forwarded }, upstreamAuth: forward, scopes: { all: [courses:read] }, anonymous: deny }
`

type TokenCredentialConfig = Extract<CredentialConfig, { readonly kind: 'client_credentials' }>

async function start(
  t: Test,
  endpoint: TokenEndpoint,
  tickMs?: () => number,
  { secret, authMethod }: Pick<TokenCredentialConfig, 'secret' | 'authMethod'> = {
    secret: SECRET,
    authMethod: 'client_secret_post',
  },
): Promise<GatewayUnderTest & { readonly file: string }> {
  recordCredential(secret)
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-token-endpoint-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'secret')
  writeFileSync(file, secret)
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    gateway: tickMs === undefined ? {} : { tickMs },
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api'
          ? {
              ...one,
              openapiPath: '/openapi',
              credentials: {
                kind: 'client_credentials',
                tokenEndpoint: endpoint.url,
                clientId: 'gateway',
                authMethod,
                scopes: [],
                resource: undefined,
                audience: undefined,
                ca: undefined,
                file,
                setting: 'upstreams.api.credentials.clientCredentials.clientSecretFile',
                secret,
              },
            }
          : one,
      ),
    }),
  })
  return { ...under, file }
}

const metricsOf = async ({ gateway }: GatewayUnderTest): Promise<string> =>
  (await send(`${gateway.managementUrl}/metrics`)).text

t.test('the upstream gets the token of the gateway in place of the token of the caller', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const under = await start(t, endpoint)
  const { gateway, upstream, issuer } = under
  const token = issuer.store('the-token-of-the-caller', { scope: 'courses:read' })
  for (const path of ['/pub/x', '/forwarded']) {
    t.equal((await send(`${gateway.url}${path}`, { token })).status, 200)
    t.match(upstream.seen('authorization'), [/^Bearer token-1-/], path)
    t.equal(upstream.seen('authorization').length, 1)
  }
  t.notMatch(upstream.bytes, token)
  const described = upstream.requests.find(({ target }) => target === '/openapi')
  t.match(new Map(described?.headers).get('authorization'), /^Bearer token-1-/)
  t.equal(endpoint.requests.length, 1)
  t.match(await metricsOf(under), /scopegate_upstream_token_requests_total\{upstream="api",result="ok"\} 1/)
  t.match(await metricsOf(under), /scopegate_upstream_token_expiry_seconds\{upstream="api"\} 1\d{9}/)
  t.notMatch(under.logText(), /token-1-/)

  upstream.reply(OK_REPLY.replace('\r\n\r\n', `\r\nx-seen: ${upstream.seen('authorization')}\r\n\r\n`))
  const response = await send(`${gateway.url}/pub/x`)
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-seen'), null, 'the client gets no response header with the token')
})

t.test('many first requests wait for one token request', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const held: (() => void)[] = []
  endpoint.respondWith((response) => held.push(() => sendJson(response, tokenResponse())))
  const { gateway, upstream } = await start(t, endpoint)
  const responses = Array.from({ length: 20 }, () => send(`${gateway.url}/pub/x`))
  await until('the token request arrives', async () => held.length > 0)
  t.notOk(upstream.requests.some(({ target }) => target === '/pub/x'))
  for (const release of held) release()
  t.ok((await Promise.all(responses)).every(({ status }) => status === 200))
  t.equal(endpoint.requests.length, 1)
})

t.test(
  'a token endpoint that never responds costs a request one timeout, and the client gets 503',
  async (t) => {
    const endpoint = await startTokenEndpoint(t)
    endpoint.respondWith(() => undefined)
    const { gateway, upstream } = await start(t, endpoint)
    const response = await send(`${gateway.url}/pub/x`)
    t.equal(response.status, 503)
    t.equal(response.json['error'], 'upstream_credentials_unavailable')
    t.same(
      upstream.requests.filter(({ target }) => target === '/pub/x'),
      [],
    )
  },
)

for (const [fault, respond] of [
  ['is broken', undefined],
  ['responds with an error', '{"error":"server_error"}'],
  ['sends an invalid token', tokenResponse({ access_token: 'a b\r\nx-auth-subject: root' })],
  ['sends a token for a proof', tokenResponse({ token_type: 'DPoP' })],
] as const)
  t.test(
    `while the token endpoint ${fault}, no request reaches the upstream, and recovers after it`,
    async (t) => {
      const endpoint = await startTokenEndpoint(t)
      endpoint.respondWith((response) => {
        if (respond === undefined) response.destroy()
        else sendJson(response, respond, respond.startsWith('{"error') ? 500 : 200)
      })
      const under = await start(t, endpoint)
      const { gateway, upstream } = under
      const response = await send(`${gateway.url}/pub/x`)
      t.equal(response.status, 503)
      t.equal(response.json['error'], 'upstream_credentials_unavailable')
      t.match(response.headers.get('retry-after'), /^\d+$/)
      t.equal(String(response.json['retry_after']), response.headers.get('retry-after'))
      t.notMatch(response.text, /127\.0\.0\.1|root|DPoP|client/i)
      t.same(
        upstream.requests.filter(({ target }) => target === '/pub/x'),
        [],
      )
      const ready = await send(`${gateway.managementUrl}/readyz?verbose`)
      t.equal(ready.status, 200)
      t.match(ready.text, /\[!\] token for upstream api: The /)
      t.match(
        under.log().find(({ event }) => event === 'upstream_token_failed'),
        { level: 'warn', upstream: 'api', err: { code: /^ERR_UPSTREAM_TOKEN_/ } },
      )
      t.notMatch(under.logText(), 'x-auth-subject')

      endpoint.respondWith(undefined)
      await until('the gateway gets a token', async () => (await send(`${gateway.url}/pub/x`)).status === 200)
      t.match(upstream.seen('authorization'), [/^Bearer token-\d+-/])
      t.match(
        under.log().find(({ event }) => event === 'upstream_token_back'),
        { upstream: 'api' },
      )
      t.notMatch((await send(`${gateway.managementUrl}/readyz?verbose`)).text, 'token for upstream')
    },
  )

t.test('a new client secret in the file ends the rejections of the token endpoint', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const next = 'the-next-client-secret-for-the-endpoint'
  recordCredential(next)
  endpoint.respondWith((response) => {
    if (endpoint.requests.at(-1)?.form.get('client_secret') === next) sendJson(response, tokenResponse())
    else sendJson(response, '{"error":"invalid_client"}', 401)
  })
  const under = await start(t, endpoint)
  const { gateway, file } = under
  t.equal((await send(`${gateway.url}/pub/x`)).status, 503)
  t.match(
    await metricsOf(under),
    /scopegate_upstream_token_requests_total\{upstream="api",result="credentials"\} \d/,
  )
  writeFileSync(file, next)
  await until('the gateway gets a token', async () => (await send(`${gateway.url}/pub/x`)).status === 200)
})

t.test('after a 401 of the upstream, the next requests have a new token', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  let laterMs = 0
  const { gateway, upstream } = await start(t, endpoint, () => performance.now() + laterMs)
  upstream.reply('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n')
  t.equal((await send(`${gateway.url}/pub/x`)).status, 502)
  t.match(upstream.seen('authorization'), [/^Bearer token-1-/])
  t.equal(endpoint.requests.length, 1, 'the token is too new')
  laterMs = 30_000
  t.equal((await send(`${gateway.url}/pub/x`)).status, 502)
  upstream.reply(OK_REPLY)
  await until('the token is new', async () => {
    t.equal((await send(`${gateway.url}/pub/x`)).status, 200)
    return upstream.seen('authorization').some((value) => value.startsWith('Bearer token-2-'))
  })
})

t.test('an unusable key file changes nothing, and the right key ends the rejections', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const issuer = 'https://login.example'
  const keys = ['first', 'second'].map((kid) => aKey('ES256', kid).privateKey)
  const [first, second] = keys.map((key) => String(key.export({ type: 'pkcs8', format: 'pem' }))) as [
    string,
    string,
  ]
  const registered = createPublicKey(second)
  const seen: string[] = []
  endpoint.respondWith(async (response) => {
    const assertion = endpoint.requests.at(-1)?.form.get('client_assertion') ?? ''
    recordCredential(assertion)
    seen.push(decodeProtectedHeader(assertion).kid ?? '')
    const isValid = await jwtVerify(assertion, registered, { audience: issuer, subject: 'gateway' }).catch(
      () => undefined,
    )
    if (isValid === undefined) sendJson(response, '{"error":"invalid_client"}', 401)
    else sendJson(response, tokenResponse())
  })
  const under = await start(t, endpoint, undefined, {
    secret: first,
    authMethod: { issuer, keyId: undefined, algorithm: undefined },
  })
  const request = async () => (await send(`${under.gateway.url}/pub/x`)).status
  const reasons = () =>
    under.log().flatMap(({ event, reason }) => (event === 'secret_unusable' ? [String(reason)] : []))
  t.equal(await request(), 503, 'without a token, no request reaches the upstream')

  rmSync(under.file)
  await until('the missing file is noticed', async () => reasons().some((one) => /ENOENT/.test(one)))
  writeFileSync(under.file, publicPem(first))
  await until('the wrong file is noticed', async () =>
    reasons().some((one) => /no unencrypted private key/.test(one)),
  )
  const before = seen.length
  await until('a request has the earlier key', async () => seen.length > before)
  t.equal(new Set(seen).size, 1)
  t.equal(await request(), 503)

  recordCredential(second)
  writeFileSync(under.file, second)
  await until('the upstream gets requests', async () => (await request()) === 200)
  t.equal(new Set(seen).size, 2)
  t.ok(under.log().some(({ event }) => event === 'secret_reloaded'))
  t.notMatch(under.logText(), /PRIVATE KEY|eyJ/)
})

function publicPem(privateKey: string): string {
  return String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))
}
