import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { metadataUrls } from '../../../../gateway/tokens/jwt/discover.ts'
import { createDocumentFetcher } from '../../../../gateway/tokens/jwt/fetch-document.ts'
import { isProtectedAddress } from '../../../../gateway/tokens/jwt/is-protected-address.ts'
import { createKeySource, type KeysLocation } from '../../../../gateway/tokens/jwt/key-source.ts'
import { type JwtIssuerOptions, type Misconduct, startJwtIssuer } from '../../../fixtures/a-jwt-issuer.ts'

async function setUp(
  t: Test,
  options: JwtIssuerOptions & { location?: KeysLocation; timeoutMs?: number } = {},
) {
  const issuer = await startJwtIssuer(options)
  const fetcher = createDocumentFetcher({ ca: undefined })
  t.teardown(() => Promise.all([issuer.close(), fetcher.close()]))
  const load = createKeySource({
    issuer: issuer.issuer,
    location: options.location ?? { by: 'discovery' },
    algorithms: new Set(['ES256']),
    fetchDocument: fetcher.fetchDocument,
    timeoutMs: options.timeoutMs ?? 20_000,
  })
  return { issuer, load, fetcher }
}

t.test('RFC 8414 §3.1: OAuth metadata is fetched first', async (t) => {
  const { issuer, load } = await setUp(t)
  t.match(await load(), { keys: [{ kid: 'key-1' }] })
  t.same(issuer.asked, ['/.well-known/oauth-authorization-server', '/keys'])
  await load()
  t.same(issuer.asked.slice(2), ['/keys'], 'the URL is cached')
})

t.test('OpenID metadata is the second choice', async (t) => {
  const { issuer, load } = await setUp(t, { metadata: 'openid', path: '/realms/main' })
  t.match(await load(), { keys: [{ kid: 'key-1' }] })
  t.same(issuer.asked, [
    '/.well-known/oauth-authorization-server/realms/main',
    '/realms/main/.well-known/openid-configuration',
    '/realms/main/keys',
  ])
})

t.test('RFC 8414 §3.1: the path follows the well-known part, and a final slash is ignored', async (t) => {
  t.same(metadataUrls('https://a.test'), [
    'https://a.test/.well-known/oauth-authorization-server',
    'https://a.test/.well-known/openid-configuration',
  ])
  t.same(metadataUrls('https://tenant.auth.test/'), [
    'https://tenant.auth.test/.well-known/oauth-authorization-server',
    'https://tenant.auth.test/.well-known/openid-configuration',
  ])
  t.same(metadataUrls('https://login.test/tenant/v2.0'), [
    'https://login.test/.well-known/oauth-authorization-server/tenant/v2.0',
    'https://login.test/tenant/v2.0/.well-known/openid-configuration',
  ])
})

const BAD_METADATA: readonly (readonly [what: string, change: Record<string, unknown>])[] = [
  ['another issuer', { issuer: 'https://evil.test' }],
  ['the issuer with a slash', { issuer: undefined }],
  ['an issuer template', { issuer: 'https://login.test/{tenantid}/v2.0' }],
  ['no jwks_uri', { jwks_uri: undefined }],
  ['an http jwks_uri on another host', { jwks_uri: 'http://keys.test/keys' }],
  ['a jwks_uri of another scheme', { jwks_uri: 'file:///etc/passwd' }],
  ['a jwks_uri with credentials', { jwks_uri: 'https://user:pass@keys.test/keys' }],
  ['an invalid jwks_uri', { jwks_uri: '/keys' }],
  ['a jwks_uri that is an array', { jwks_uri: ['https://keys.test'] }],
]

for (const [what, change] of BAD_METADATA)
  t.test(`RFC 8414 §3.3: metadata with ${what} is rejected`, async (t) => {
    const { issuer, load } = await setUp(t)
    issuer.describe(
      'issuer' in change && change['issuer'] === undefined ? { issuer: `${issuer.issuer}/` } : change,
    )
    await t.rejects(load(), { code: 'ERR_ISSUER_KEYS_METADATA' })
    t.equal(issuer.keyFetches, 0)
  })

const MISCONDUCT: readonly (readonly [what: string, code: string, how: Misconduct])[] = [
  ['sends nothing', 'ERR_ISSUER_KEYS_TIMEOUT', () => undefined],
  [
    'stalls within its response',
    'ERR_ISSUER_KEYS_TIMEOUT',
    (_, response) => void response.writeHead(200).write('{"keys":['),
  ],
  [
    'drips',
    'ERR_ISSUER_KEYS_TIMEOUT',
    (_, response) => {
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    },
  ],
  ['closes the connection', 'ERR_ISSUER_KEYS_CONNECTION', (request) => request.socket.destroy()],
  [
    'sends an incomplete response',
    'ERR_ISSUER_KEYS_CONNECTION',
    (request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{', () => request.socket.destroy())
    },
  ],
  [
    'responds with 500',
    'ERR_ISSUER_KEYS_STATUS',
    (_, response) => response.writeHead(500).end('{"keys":[]}'),
  ],
  ['responds with 204', 'ERR_ISSUER_KEYS_STATUS', (_, response) => response.writeHead(204).end()],
  ['responds with HTML', 'ERR_ISSUER_KEYS_RESPONSE', (_, response) => response.writeHead(200).end('<html>')],
  ['responds with an empty body', 'ERR_ISSUER_KEYS_RESPONSE', (_, response) => response.writeHead(200).end()],
  ['responds with an array', 'ERR_ISSUER_KEYS_RESPONSE', (_, response) => response.writeHead(200).end('[]')],
  [
    'responds without a key set',
    'ERR_ISSUER_KEYS_RESPONSE',
    (_, response) => response.writeHead(200).end('{"keys":{}}'),
  ],
  [
    'responds with compression',
    'ERR_ISSUER_KEYS_RESPONSE',
    (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('{"keys":[]}'),
  ],
]

for (const [what, code, how] of MISCONDUCT)
  t.test(`an issuer that ${what} causes the error ${code}`, async (t) => {
    const { issuer, fetcher } = await setUp(t)
    const load = (timeoutMs: number) =>
      createKeySource({
        issuer: issuer.issuer,
        location: { by: 'uri', uri: issuer.jwksUri },
        algorithms: new Set(['ES256']),
        fetchDocument: fetcher.fetchDocument,
        timeoutMs,
      })()
    issuer.misbehave(how)
    await t.rejects(load(code === 'ERR_ISSUER_KEYS_TIMEOUT' ? 300 : 20_000), { code })
    issuer.misbehave(undefined)
    t.match(await load(20_000), { keys: [{ kid: 'key-1' }] }, 'and works again')
  })

t.test('a redirect is not followed', async (t) => {
  const elsewhere = await startJwtIssuer()
  t.teardown(() => elsewhere.close())
  for (const status of [301, 302, 303, 307, 308]) {
    const { issuer, load } = await setUp(t)
    issuer.misbehave((_, response) => response.writeHead(status, { location: elsewhere.jwksUri }).end())
    await t.rejects(load(), { code: 'ERR_ISSUER_KEYS_STATUS' })
  }
  t.same(elsewhere.asked, [])
})

t.test('metadata or keys of one gigabyte are not read completely', async (t) => {
  for (const from of ['metadata', 'keys']) {
    const { issuer, load } = await setUp(t)
    if (from === 'keys') await load()
    let sent = 0
    issuer.misbehave((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const chunk = Buffer.alloc(65_536, ' ')
      const send = (): void => {
        while (!response.destroyed && sent < 1_073_741_824) {
          sent += chunk.length
          if (!response.write(chunk)) return void response.once('drain', send)
        }
      }
      send()
    })
    await t.rejects(load(), { code: 'ERR_ISSUER_KEYS_RESPONSE' })
    // The buffers of the operating system also count.
    t.ok(sent < 16 * 1_048_576, `${from}: ${sent} bytes were sent`)
  }
})

t.test('an issuer that closes connections gets one request per load, not one per metadata URL', async (t) => {
  const { issuer, load } = await setUp(t)
  issuer.misbehave((request) => request.socket.destroy())
  await t.rejects(load(), { code: 'ERR_ISSUER_KEYS_CONNECTION' })
  t.equal(issuer.asked.length, 1)
})

t.test('keys at a new URL are found again', async (t) => {
  const { issuer, load } = await setUp(t)
  const moved = await startJwtIssuer()
  t.teardown(() => moved.close())
  await load()
  issuer.describe({ jwks_uri: moved.jwksUri })
  issuer.misbehave((request, response) => {
    if (request.url === '/keys') response.writeHead(404).end()
    else {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ issuer: issuer.issuer, jwks_uri: moved.jwksUri }))
    }
  })
  for (let attempt = 0; attempt < 3; attempt += 1) await t.rejects(load(), { code: 'ERR_ISSUER_KEYS_STATUS' })
  await load()
  t.equal(moved.keyFetches, 1)
})

t.test('keys come from a file without a request', async (t) => {
  const file = join(t.testdir({}), 'keys.json')
  const { issuer, load } = await setUp(t, { location: { by: 'file', file } })
  await t.rejects(load(), { code: 'ERR_ISSUER_KEYS_FILE' })
  for (const text of ['{', '[]', ' '.repeat(600_000)]) {
    writeFileSync(file, text)
    await t.rejects(load(), { code: 'ERR_ISSUER_KEYS_FILE' })
  }
  writeFileSync(file, JSON.stringify({ keys: [issuer.key().jwk] }))
  t.match(await load(), { keys: [{ kid: 'key-1' }] })
  t.same(issuer.asked, [])
})

t.test('isProtectedAddress() requires https, or http on the local machine', async (t) => {
  for (const address of [
    'https://a.test/x',
    'http://127.0.0.1:1/x',
    'http://127.9.9.9',
    'http://[::1]:1',
    'http://localhost/x',
  ])
    t.equal(isProtectedAddress(address), true, address)
  for (const address of [
    'http://a.test',
    'http://127.0.0.1.evil.test',
    'http://localhost.evil.test',
    'http://10.0.0.1',
    'ftp://127.0.0.1',
    'https://u@a.test',
    'x',
    '',
  ])
    t.equal(isProtectedAddress(address), false, address)
})
