import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import t from 'tap'
import { startLearningPlatform } from '../../../examples/learning-platform/app.ts'
import { readSettings } from '../../../examples/learning-platform/settings.ts'
import { type Answer, send } from '../../fixtures/send.ts'

const ISSUER = 'https://api.test'
const { privateKey, publicKey } = await generateKeyPair('ES256')
const foreign = await generateKeyPair('ES256')

/** The assertion has the default claims of the gateway, except these claims. */
type Parts = {
  readonly subject?: string | undefined
  readonly audience?: string
  readonly issuer?: string
  readonly typ?: string
  readonly issuedAt?: number
  readonly expiresAt?: number
  readonly key?: CryptoKey
}

function anAssertion(parts: Parts = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000)
  const jwt = new SignJWT({ client_id: 'cli', scope: 'openid account:read' })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', typ: parts.typ ?? 'scopegate-assertion+jwt' })
    .setIssuer(parts.issuer ?? ISSUER)
    .setAudience(parts.audience ?? 'learning-platform')
    .setIssuedAt(parts.issuedAt ?? now)
    .setExpirationTime(parts.expiresAt ?? now + 60)
    .setJti('one')
  if (parts.subject !== undefined) jwt.setSubject(parts.subject)
  return jwt.sign(parts.key ?? privateKey)
}

/** A key server that a test can make unavailable. */
const gateway = createServer(async (_request, response) => {
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }]
  response.writeHead(away ? 500 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ keys }))
})
let away = false
gateway.listen(0, '127.0.0.1')
await once(gateway, 'listening')
t.teardown(() => gateway.close())

async function start(): Promise<(headers: Record<string, string>, path?: string) => Promise<Answer>> {
  const platform = await startLearningPlatform({
    host: '127.0.0.1',
    port: 0,
    databasePath: join(t.testdir(), `${Math.random()}.sqlite`),
    graceMs: 100,
    gateway: {
      keysUrl: new URL(`http://127.0.0.1:${(gateway.address() as AddressInfo).port}/jwks.json`),
      issuer: ISSUER,
      audiences: ['learning-platform'],
    },
  })
  t.teardown(() => platform.close())
  return (headers, path = '/api/account') => send(`${platform.url}${path}`, { headers })
}

t.test('rejects a request without a valid assertion with 401, even with plain headers', async (t) => {
  const ask = await start()
  const now = Math.floor(Date.now() / 1_000)
  const bad: Record<string, string> = {
    'not a JWT': 'junk',
    empty: '',
    'a foreign key': await anAssertion({ subject: 'alice', key: foreign.privateKey }),
    'another audience': await anAssertion({ subject: 'alice', audience: 'courses' }),
    'another issuer': await anAssertion({ subject: 'alice', issuer: 'https://evil.test' }),
    'another type of token': await anAssertion({ subject: 'alice', typ: 'at+jwt' }),
    expired: await anAssertion({ subject: 'alice', issuedAt: now - 120, expiresAt: now - 60 }),
    'too long ago': await anAssertion({ subject: 'alice', issuedAt: now - 600, expiresAt: now + 600 }),
    unsigned: `${btoa('{"alg":"none"}')}.${btoa('{"sub":"alice"}')}.`,
    'two of them': `${await anAssertion({ subject: 'alice' })}, ${await anAssertion({ subject: 'bob' })}`,
  }
  for (const [name, assertion] of Object.entries(bad)) {
    const answer = await ask({ 'x-auth-assertion': assertion, 'x-auth-subject': 'alice' })
    t.match(answer, { status: 401, json: { error: 'invalid_assertion' } }, name)
    t.equal(answer.headers.get('www-authenticate'), 'x-auth-assertion', name)
  }
  const missing = await ask({ 'x-auth-subject': 'alice', 'x-auth-scope': 'account:read' })
  t.match(missing, { status: 401, json: { error: 'invalid_assertion' } }, 'only plain headers')
})

t.test('the assertion identifies the caller, not the plain headers', async (t) => {
  const ask = await start()
  const answer = await ask({
    'x-auth-assertion': await anAssertion({ subject: 'alice' }),
    'x-auth-subject': 'bob',
    'x-auth-client-id': 'forged',
  })
  t.match(answer, { status: 200, json: { subject: 'alice', access: { client_id: 'cli' } } })
})

t.test('treats an anonymous caller and a client without a subject as public', async (t) => {
  const ask = await start()
  t.same((await ask({}, '/api/students')).json, { items: [], next: null })
  t.same((await ask({ 'x-auth-assertion': await anAssertion() }, '/api/students')).json, {
    items: [],
    next: null,
  })
})

t.test('responds with 503 while the keys of the gateway are unavailable', async (t) => {
  const ask = await start()
  away = true
  t.teardown(() => {
    away = false
  })
  const answer = await ask({ 'x-auth-assertion': await anAssertion({ subject: 'alice' }) })
  t.match(answer, { status: 503, json: { error: 'temporarily_unavailable' } })
  t.equal(answer.headers.get('retry-after'), '1')
  away = false
  t.equal((await ask({ 'x-auth-assertion': await anAssertion({ subject: 'alice' }) })).status, 200)
})

t.test('readSettings() requires keys and issuer together', async (t) => {
  const jwks = 'http://127.0.0.1:8080/.well-known/scopegate/jwks.json'
  t.equal(readSettings({}).gateway, undefined)
  t.match(readSettings({ LEARNING_PLATFORM_GATEWAY_JWKS: jwks, LEARNING_PLATFORM_GATEWAY_ISSUER: ISSUER }), {
    gateway: { keysUrl: { href: jwks }, issuer: ISSUER, audiences: ['learning-platform'] },
  })
  for (const env of [
    { LEARNING_PLATFORM_GATEWAY_JWKS: jwks },
    { LEARNING_PLATFORM_GATEWAY_ISSUER: ISSUER },
    { LEARNING_PLATFORM_GATEWAY_JWKS: 'nowhere', LEARNING_PLATFORM_GATEWAY_ISSUER: ISSUER },
  ])
    t.throws(() => readSettings(env), { code: 'ERR_SETTING' })
})
