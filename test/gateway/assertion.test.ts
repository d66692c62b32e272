import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRemoteJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import t from 'tap'
import { readAssertionKeys } from '../../gateway/upstream-identity/assertion-key.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const KEYS = '/.well-known/scopegate/jwks.json'

function aPem(): string {
  return String(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  )
}

// A separate folder, because the gateway under test uses `t.testdir()` as its policy folder.
const folder = t.testdir()

function aKeyFile(): string {
  const file = join(folder, `${randomUUID()}.pem`)
  writeFileSync(file, aPem())
  return file
}

async function assertionOf(under: GatewayUnderTest, token: string, path = '/api/asserted') {
  const answer = await send(`${under.gateway.url}${path}`, { token })
  if (answer.status !== 200) throw new Error(`status ${answer.status}`)
  const [assertion = ''] = under.upstream.seen('x-auth-assertion')
  return assertion
}

async function keysOf(under: GatewayUnderTest): Promise<JSONWebKeySet> {
  return (await (await fetch(`${under.gateway.url}${KEYS}`)).json()) as JSONWebKeySet
}

t.test('the upstream gets an assertion that the published keys verify, and no access token', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.issuer.store('good', { scope: 'courses:read' })
  const assertion = await assertionOf(under, 'good')
  const keys = createRemoteJWKSet(new URL(`${under.gateway.url}${KEYS}`))
  const { payload } = await jwtVerify(assertion, keys, {
    issuer: BASE_URL,
    audience: 'api',
    typ: 'scopegate-assertion+jwt',
    maxTokenAge: 60,
  })
  t.match(payload, { sub: 'user-1', client_id: 'client-1', scope: 'courses:read' })
  t.same(under.upstream.seen('authorization'), [])
  t.same(under.upstream.seen('x-auth-subject'), ['user-1'])
  t.equal(await assertionOf(under, 'good'), assertion, 'minted once')
})

t.test('an anonymous request contains no assertion, and the gateway drops a forged assertion', async (t) => {
  const under = await startGatewayUnderTest(t)
  for (const name of ['x-auth-assertion', 'X_Auth_Assertion', 'x-auth.assertion']) {
    const answer = await send(`${under.gateway.url}/api/asserted`, { headers: { [name]: 'forged' } })
    t.equal(answer.status, 200)
    t.same(under.upstream.seen('x-auth-assertion'), [])
  }
  t.notMatch(under.upstream.bytes, 'forged')
  under.issuer.store('good', { scope: 'courses:read' })
  t.equal(await assertionOf(under, 'good', '/api/courses'), '', 'the route does not require it')
})

t.test('the JWKS is a public document without private members', async (t) => {
  const under = await startGatewayUnderTest(t)
  const response = await fetch(`${under.gateway.url}${KEYS}`)
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'application/jwk-set+json')
  t.equal(response.headers.get('cache-control'), 'public, max-age=300')
  const { keys } = (await response.json()) as JSONWebKeySet
  t.equal(keys.length, 1)
  for (const key of keys) t.same(Object.keys(key).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
})

t.test('gateways with the same key file are one issuer to an upstream', async (t) => {
  const keyFile = aKeyFile()
  const one = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, assertion: { keyFile, ttlSeconds: 60 } }),
  })
  await t.test('another process', async (t) => {
    const other = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, assertion: { keyFile, ttlSeconds: 60 } }),
    })
    other.issuer.store('good')
    const assertion = await assertionOf(other, 'good')
    const keys = createRemoteJWKSet(new URL(`${one.gateway.url}${KEYS}`))
    t.match(await jwtVerify(assertion, keys, { audience: 'api' }), { payload: { sub: 'user-1' } })
  })
})

t.test(
  'the gateway publishes the keys of a changed key file while the old key still signs',
  { timeout: 60_000 },
  async (t) => {
    const keyFile = aKeyFile()
    const [old] = readAssertionKeys(keyFile)
    const under = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, assertion: { keyFile, ttlSeconds: 60 } }),
    })
    under.issuer.store('good')
    writeFileSync(keyFile, 'not a key')
    await until('the unusable file is logged', async () =>
      under.log().some((line) => line['event'] === 'assertion_keys_unusable'),
    )
    t.equal(decodeProtectedHeader(await assertionOf(under, 'good')).kid, old?.kid)
    writeFileSync(keyFile, aPem())
    const [fresh] = readAssertionKeys(keyFile)
    await until('published', async () => (await keysOf(under)).keys.length === 2)
    t.same(new Set((await keysOf(under)).keys.map(({ kid }) => kid)), new Set([old?.kid, fresh?.kid]))
    under.issuer.store('other')
    t.equal(decodeProtectedHeader(await assertionOf(under, 'other')).kid, old?.kid)
  },
)

t.test(
  'readAssertionKeys() describes the problem of a key file, and does not show its content',
  async (t) => {
    const secret = aPem().replace(/\n.{10}/, '\nAAAAAAAAAA')
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const files = {
      'empty.pem': '',
      'broken.pem': secret,
      'rsa.pem': String(rsa.export({ type: 'pkcs8', format: 'pem' })),
    }
    const dir = t.testdir(files)
    for (const name of [...Object.keys(files), 'missing.pem'])
      try {
        readAssertionKeys(join(dir, name))
        t.fail(`${name} was taken`)
      } catch (error) {
        const { message } = error as Error
        t.match(message, 'C306', name)
        t.match(message, name === 'missing.pem' ? 'set assertion.keyFile to' : 'create a key', name)
        t.notMatch(message, secret.slice(40, 60), name)
      }
    writeFileSync(join(dir, 'two.pem'), aPem() + aPem())
    t.equal(readAssertionKeys(join(dir, 'two.pem')).length, 2)
  },
)
