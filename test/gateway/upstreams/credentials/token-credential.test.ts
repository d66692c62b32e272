import { createPublicKey, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { calculateJwkThumbprint, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import {
  createTokenClient,
  type TokenRequest,
} from '../../../../gateway/upstreams/credentials/token-client.ts'
import {
  openTokenCredential,
  type TokenCredential,
} from '../../../../gateway/upstreams/credentials/token-credential.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { recordCredential } from '../../../fixtures/capture.ts'
import { aKey, publicJwk } from '../../../fixtures/jwk.ts'
import {
  sendJson,
  startTokenEndpoint,
  type TokenEndpoint,
  tokenResponse,
} from '../../../fixtures/token-endpoint.ts'

const REQUEST = {
  clientId: 'gateway',
  authMethod: 'client_secret_basic',
  scopes: [],
  resource: undefined,
  audience: undefined,
  ca: undefined,
} as const
const SECRET = 'a secret: 100% of the test'

/** A clock that only `pass` moves. `pass` also calls the timers that are due. */
function aClock() {
  let nowMs = 1_000_000
  const timers = new Set<{ dueMs: number; call: () => void }>()
  return {
    tickMs: () => nowMs,
    nowMs: () => nowMs,
    after(delayMs: number, call: () => void) {
      const timer = { dueMs: nowMs + delayMs, call }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    timers,
    pass(ms: number) {
      nowMs += ms
      for (const timer of timers)
        if (timer.dueMs <= nowMs) {
          timers.delete(timer)
          timer.call()
        }
    },
  }
}

function open(
  t: Test,
  endpoint: Pick<TokenEndpoint, 'url'>,
  options: { readonly request?: Partial<TokenRequest>; readonly secrets?: string[] } = {},
) {
  const clock = aClock()
  const results: string[] = []
  const errors: unknown[] = []
  const events: unknown[] = []
  const secrets = options.secrets ?? [SECRET]
  const credential: TokenCredential = openTokenCredential({
    upstream: 'api',
    client: createTokenClient({ ...REQUEST, tokenEndpoint: endpoint.url, ...options.request }, Date.now),
    secret: {
      get current() {
        return secrets[0] ?? ''
      },
      async refresh() {
        if (secrets.length < 2) return false
        secrets.shift()
        return true
      },
    },
    clock,
    random: () => 0,
    meter: { requested: (result) => void results.push(result), expiresAt: () => undefined },
    logger: { info: ((fields: unknown) => void events.push(fields)) as never },
    failures: { failed: (_kind, error) => void errors.push(error) },
  })
  t.teardown(() => credential.close())
  /** Waits for the end of the fetch in progress. */
  const settled = async (): Promise<void> => {
    await credential.pending
    await turn()
  }
  return { clock, results, errors, events, credential, settled }
}

t.test('the token request has the client credentials, the scopes and the resource', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const request = {
    scopes: ['invoices:read', 'invoices:write'],
    resource: 'https://billing.example/api',
    audience: 'urn:billing',
  }
  const basic = open(t, endpoint, { request })
  await basic.settled()
  t.match(basic.credential.header, ['authorization', /^Bearer token-1-/])
  const first = endpoint.requests[0]
  const encoded = 'gateway:a+secret%3A+100%25+of+the+test'
  t.equal(first?.headers.authorization, `Basic ${Buffer.from(encoded).toString('base64')}`)
  t.same(Object.fromEntries(first?.form ?? []), {
    grant_type: 'client_credentials',
    scope: 'invoices:read invoices:write',
    resource: 'https://billing.example/api',
    audience: 'urn:billing',
  })
  const post = open(t, endpoint, { request: { authMethod: 'client_secret_post' } })
  await post.settled()
  t.equal(endpoint.requests[1]?.headers.authorization, undefined)
  t.same(Object.fromEntries(endpoint.requests[1]?.form ?? []), {
    grant_type: 'client_credentials',
    client_id: 'gateway',
    client_secret: SECRET,
  })
})

t.test('the token request has a fresh assertion of the private key in place of a secret', async (t) => {
  const issuer = 'https://login.example/tenant'
  const rsa = aKey('RS256', 'unused').privateKey
  const jwk = { ...rsa.export({ format: 'jwk' }), kid: 'of-the-jwk', alg: 'PS256', use: 'sig' }
  const pem = (key: KeyObject) => String(key.export({ type: 'pkcs8', format: 'pem' }))
  const p256 = aKey('ES256', 'unused').privateKey
  const [p384, ed25519] = [aKey('ES384', 'unused').privateKey, aKey('EdDSA', 'unused').privateKey]
  for (const [text, key, algorithm, keyId, choice] of [
    [pem(p256), p256, 'ES256', await calculateJwkThumbprint(publicJwk(p256)), {}],
    [String(p256.export({ type: 'sec1', format: 'pem' })), p256, 'ES256', 'chosen', { keyId: 'chosen' }],
    [pem(p384), p384, 'ES384', await calculateJwkThumbprint(publicJwk(p384)), {}],
    [pem(ed25519), ed25519, 'EdDSA', await calculateJwkThumbprint(publicJwk(ed25519)), {}],
    [pem(rsa), rsa, 'RS256', await calculateJwkThumbprint(publicJwk(rsa)), {}],
    [JSON.stringify(jwk), rsa, 'PS256', 'of-the-jwk', {}],
    [JSON.stringify(jwk), rsa, 'RS256', 'chosen', { keyId: 'chosen', algorithm: 'RS256' }],
  ] as const) {
    const endpoint = await startTokenEndpoint(t)
    const authMethod = { issuer, keyId: undefined, algorithm: undefined, ...choice }
    for (const _ of [1, 2]) await open(t, endpoint, { request: { authMethod }, secrets: [text] }).settled()
    const sent = await Promise.all(
      endpoint.requests.map(async ({ headers, form }) => {
        t.equal(headers.authorization, undefined)
        t.same([...form.keys()], ['grant_type', 'client_id', 'client_assertion_type', 'client_assertion'])
        t.equal(form.get('client_id'), 'gateway')
        t.equal(form.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
        const assertion = form.get('client_assertion') ?? ''
        recordCredential(assertion)
        const { payload, protectedHeader } = await jwtVerify(assertion, createPublicKey(key), {
          algorithms: [algorithm],
          audience: issuer,
          issuer: 'gateway',
          subject: 'gateway',
          typ: 'client-authentication+jwt',
          maxTokenAge: 60,
        })
        t.equal(protectedHeader.kid, keyId)
        t.equal(payload.aud, issuer, 'the audience is not a list')
        t.equal((payload.exp ?? 0) - (payload.iat ?? 0), 60)
        return payload.jti
      }),
    )
    t.equal(new Set(sent).size, 2, 'each request has another jti')
  }
})

const LIES: readonly (readonly [what: string, body: string, failure?: string])[] = [
  ['no JSON', 'not JSON'],
  ['an array', '[]'],
  ['a member twice', `${tokenResponse().slice(0, -1)},"access_token":"another"}`],
  ['no token', tokenResponse({ access_token: undefined })],
  ['an empty token', tokenResponse({ access_token: '' })],
  ['a token with a line break', tokenResponse({ access_token: 'a\r\nx-auth-subject: root' })],
  ['a token with a space', tokenResponse({ access_token: 'a b' })],
  ['a token with another character', tokenResponse({ access_token: 'a\u00e4' })],
  ['a token as a number', tokenResponse({ access_token: 1 })],
  ['a token of 5,000 characters', tokenResponse({ access_token: 'a'.repeat(5_000) })],
  ['no token type', tokenResponse({ token_type: undefined })],
  ['a token with a proof', tokenResponse({ token_type: 'DPoP' })],
  ['an expired token', tokenResponse({ expires_in: 0 })],
  ['a negative lifetime', tokenResponse({ expires_in: -600 })],
  ['a lifetime as text', tokenResponse({ expires_in: '600' })],
  ['a lifetime with a fraction', tokenResponse({ expires_in: 600.5 })],
  ['a lifetime that is too short', tokenResponse({ expires_in: 9 })],
  ['a body of 100 KiB', tokenResponse({ more: 'a'.repeat(100_000) })],
]

t.test('the gateway uses no token of an invalid response', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  for (const [what, body] of LIES) {
    endpoint.respondWith((response) => sendJson(response, body))
    const { credential, results, errors, settled } = open(t, endpoint)
    await settled()
    t.equal(credential.header, undefined, what)
    t.same(results, ['response'], what)
    t.match(errors, [{ code: 'ERR_UPSTREAM_TOKEN_RESPONSE' }], what)
    t.notMatch(String(errors), /root|another|a-valid-token/, what)
  }
  endpoint.respondWith((response) => response.setHeader('content-type', 'text/html').end(tokenResponse()))
  const page = open(t, endpoint)
  await page.settled()
  t.same(page.results, ['response'])
})

t.test('the gateway follows no redirect, and reports the reason of each failure', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const other = await startTokenEndpoint(t)
  for (const [status, body, result] of [
    [302, '', 'status'],
    [307, '', 'status'],
    [500, tokenResponse(), 'status'],
    [201, tokenResponse(), 'status'],
    [400, '{"error":"invalid_scope"}', 'status'],
    [400, '{"error":"a\\nforged line"}', 'status'],
    [400, '{"error":"invalid_client"}', 'credentials'],
    [200, '{"error":"invalid_client"}', 'credentials'],
    [200, tokenResponse({ error: 'server_error' }), 'status'],
    [401, 'no', 'credentials'],
  ] as const) {
    endpoint.respondWith((response) => sendJson(response.setHeader('location', other.url), body, status))
    const { credential, results, errors, settled } = open(t, endpoint)
    await settled()
    t.equal(credential.header, undefined)
    t.same(results, [result], `${status} ${body}`)
    t.notMatch(String(errors), 'forged')
    t.match(credential.problem, `status ${status}`)
  }
  t.same(other.requests, [])
  endpoint.respondWith((response) => sendJson(response, tokenResponse({ expires_in: '600' })))
  const asText = open(t, endpoint)
  await asText.settled()
  t.match(asText.credential.problem, 'must have a whole number of at least 10 in expires_in')
  const gone = open(t, { url: 'http://127.0.0.1:1/token' })
  await gone.settled()
  t.same(gone.results, ['connection'])
  endpoint.respondWith((response) => response.destroy())
  const broken = open(t, endpoint)
  await broken.settled()
  t.same(broken.results, ['connection'])
})

t.test('a token endpoint that does not respond is a timeout', async (t) => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const { port } = silent.address() as AddressInfo
  const { results, credential, settled } = open(t, { url: `http://127.0.0.1:${port}/token` })
  await settled()
  t.same(results, ['timeout'])
  t.match(credential.problem, 'did not respond')
})

t.test('the gateway verifies the certificate of the token endpoint', async (t) => {
  const authority = aCertificate({ authority: true })
  const endpoint = await startTokenEndpoint(t, aCertificate({ by: authority }))
  const unknown = open(t, endpoint)
  await unknown.settled()
  t.same(unknown.results, ['connection'])
  const known = open(t, endpoint, { request: { ca: authority.cert } })
  await known.settled()
  t.same(known.results, ['ok'])
})

t.test('the gateway renews a token before its expiry, and with one request at a time', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const { clock, credential, settled } = open(t, endpoint)
  t.equal(credential.header, undefined, 'the first fetch is in progress')
  credential.rejected()
  await settled()
  t.match(credential.header, ['authorization', /^Bearer token-1-/])
  clock.pass(479_000)
  t.equal(credential.pending, undefined)
  clock.pass(1_000)
  credential.rejected()
  t.match(credential.header, ['authorization', /^Bearer token-1-/], 'the earlier token stays meanwhile')
  const [, earlier = ''] = credential.header ?? []
  await settled()
  t.match(credential.header, ['authorization', /^Bearer token-2-/])
  t.equal(credential.reveals(`key=${earlier}`), true, 'the earlier token is still valid')
  t.equal(credential.reveals('key='), false)
  t.equal(endpoint.requests.length, 2)
  t.equal(clock.timers.size, 1)
})

t.test('while the endpoint fails, the token stays until its expiry, and the pauses grow', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const { clock, credential, events, settled } = open(t, endpoint)
  await settled()
  endpoint.respondWith((response) => sendJson(response, '{}', 503))
  clock.pass(480_000)
  await settled()
  const pauses: number[] = []
  for (let round = 0; round < 8; round += 1) {
    const [timer] = clock.timers
    const pauseMs = (timer?.dueMs ?? 0) - clock.tickMs()
    pauses.push(pauseMs)
    credential.rejected()
    t.equal(credential.pending, undefined, 'a 401 of the upstream causes no fetch during the pause')
    clock.pass(pauseMs)
    await settled()
  }
  t.same(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  t.equal(credential.header, undefined, 'the token has expired after 595 s')
  t.equal(credential.retryAfterSeconds, 30)
  t.match(credential.problem, 'status 503')
  endpoint.respondWith(undefined)
  clock.pass(30_000)
  await settled()
  t.match(credential.header, ['authorization', /^Bearer token-\d+-/])
  t.equal(credential.problem, undefined)
  t.same(events, [{ event: 'upstream_token_back', upstream: 'api', failures: 9 }])
})

t.test('the gateway does not send a token in the last seconds of its lifetime', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const { clock, credential, settled } = open(t, endpoint)
  await settled()
  endpoint.respondWith((response) => sendJson(response, '{}', 500))
  clock.pass(594_999)
  t.ok(credential.header)
  clock.pass(1)
  t.equal(credential.header, undefined)
  await settled()
})

t.test('the gateway always has a token, also with the shortest lifetime', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  for (const expires_in of [10, 15, 20, 25]) {
    endpoint.respondWith((response) => sendJson(response, tokenResponse({ expires_in })))
    const { clock, credential, results, settled } = open(t, endpoint)
    await settled()
    for (let second = 0; second < 2 * expires_in; second += 1) {
      t.not(credential.header, undefined, `${expires_in} s, second ${second}`)
      clock.pass(1_000)
      await settled()
    }
    t.ok(results.length <= 2 * expires_in, 'the gateway waits between two fetches')
  }
})

t.test('the gateway waits between two fetches if the token endpoint is slow', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  endpoint.respondWith((response) => {
    clock.pass(5_000)
    sendJson(response, tokenResponse({ expires_in: 10 }))
  })
  const { clock, settled } = open(t, endpoint)
  await settled()
  for (const [ms, requests] of [
    [999, 1],
    [1, 2],
  ] as const) {
    clock.pass(ms)
    await settled()
    t.equal(endpoint.requests.length, requests)
  }
})

t.test('after a 401 of the upstream, the gateway renews an old token, but not a new one', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const { clock, credential, settled } = open(t, endpoint)
  await settled()
  clock.pass(29_999)
  credential.rejected()
  t.equal(credential.pending, undefined)
  clock.pass(1)
  credential.rejected()
  await settled()
  credential.rejected()
  await settled()
  t.equal(endpoint.requests.length, 2)
  t.match(credential.header, ['authorization', /^Bearer token-2-/])
})

t.test('a rejected client secret is read again from its file, once', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  endpoint.respondWith((response) => {
    if (endpoint.requests.length === 1) sendJson(response, '{"error":"invalid_client"}', 401)
    else sendJson(response, tokenResponse())
  })
  const { results, settled } = open(t, endpoint, { secrets: ['old', 'new'] })
  await settled()
  t.same(results, ['ok'])
  t.same(
    endpoint.requests.map(({ headers }) => headers.authorization),
    ['gateway:old', 'gateway:new'].map((pair) => `Basic ${Buffer.from(pair).toString('base64')}`),
  )
})

t.test('close() ends the renewal', async (t) => {
  const endpoint = await startTokenEndpoint(t)
  const { clock, credential, settled } = open(t, endpoint)
  await settled()
  await credential.close()
  t.equal(clock.timers.size, 0)
  clock.pass(600_000)
  credential.rejected()
  t.equal(credential.pending, undefined)
})
