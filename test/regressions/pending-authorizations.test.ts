import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { AuthorizationServerConfig } from '../../authorization-server/config.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { type Client, knownClient, makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Answer, type Parameters, send } from '../fixtures/send.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'
import { startRedis } from '../fixtures/start-redis.ts'

const PUSHED = { pending: 'PushedAuthorizationRequest', path: ENDPOINTS.pushedAuthorizationRequest } as const
const OPEN = { pending: 'Interaction', path: ENDPOINTS.authorization } as const
const BROWSER = { accept: 'text/html,application/xhtml+xml;q=0.9' }

/** Sends an authorization request with the header in which the gateway reports the client address. */
const authorize = (
  client: Client,
  address: string,
  options: { overrides?: Parameters; headers?: Record<string, string> } = {},
): Promise<Answer> =>
  send(client.authorizeUrl('openid', makePkce().challenge, options.overrides), {
    headers: { 'x-forwarded-for': address, ...options.headers },
  })
const push = (
  server: AuthorizationServer,
  client: Client,
  address: string,
  overrides: Parameters = {},
): Promise<Answer> =>
  send(`${server.baseUrl}${PUSHED.path}`, {
    headers: { 'x-forwarded-for': address },
    form: {
      ...Object.fromEntries(client.authorizeUrl('openid', makePkce().challenge).searchParams),
      ...overrides,
    },
  })
/** Sends an authorization request with the received `request_uri`. */
const usePushed = (client: Client, pushed: Answer, address: string): Promise<Answer> => {
  const url = client.authorizeUrl('openid', '')
  url.search = new URLSearchParams({
    client_id: client.clientId,
    request_uri: String(pushed.json['request_uri']),
  }).toString()
  return send(url, { headers: { 'x-forwarded-for': address } })
}

/** Starts a server with an integration. The integration sends its client secret with each pushed request. */
async function startWithIntegration(
  t: Test,
  bound: { readonly perAddress: number; readonly pending: number },
) {
  const clientSecret = randomBytes(32).toString('base64url')
  const clientSecretFile = join(t.testdir({ secret: clientSecret }), 'secret')
  const registered = { clientId: 'web:app', redirectUri: 'https://app.example.com/callback', clientSecret }
  const { clientId, redirectUri } = registered
  const server = await startServer(t, {
    authorization: {
      rateLimit: { perAddress: bound.perAddress, windowMs: 600_000 },
      pending: { perAddress: bound.pending, total: 10_000 },
    },
    integrations: [{ clientId, clientName: 'Web app', redirectUris: [redirectUri], clientSecretFile }],
  })
  const client = knownClient(server, registered)
  const authorizeUrl: Client['authorizeUrl'] = (scope, challenge, overrides) =>
    client.authorizeUrl(scope, challenge, { client_secret: clientSecret, ...overrides })
  return { server, integration: { ...client, authorizeUrl } }
}

t.test('rejects too many authorization requests of one address with 429 and Retry-After', async (t) => {
  const server = await startServer(t, {
    authorization: {
      rateLimit: { perAddress: 3, windowMs: 600_000 },
      pending: { perAddress: 200, total: 10_000 },
    },
  })
  const client = await registerClient(server)
  t.equal((await authorize(client, '192.0.2.1')).status, 303)
  t.equal((await push(server, client, '192.0.2.1')).status, 201, 'pushed requests are counted too')
  t.equal((await authorize(client, '192.0.2.1')).status, 303)

  const rejected = await authorize(client, '192.0.2.1')
  t.match(rejected, { status: 429, json: { error: 'rate_limited', error_description: /\d seconds/ } })
  const retryAfter = Number(rejected.headers.get('retry-after'))
  t.ok(retryAfter > 0 && retryAfter <= 600, `Retry-After: ${retryAfter}`)
  t.equal(rejected.headers.get('cache-control'), 'no-store')
  t.equal(rejected.headers.get('location'), null)
  t.match(await push(server, client, '192.0.2.1'), { status: 429, json: { error: 'rate_limited' } })

  const page = await authorize(client, '192.0.2.1', { headers: BROWSER })
  t.equal(page.status, 429)
  t.match(page.headers.get('content-type'), 'text/html')
  t.match(page.headers.get('retry-after'), /^\d+$/)
  t.match(page.text, 'Too many sign-ins were started')

  t.equal((await authorize(client, '192.0.2.2')).status, 303, 'another address is served')
})

t.test('rejects a parameter that is too long, and stores nothing', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const longestState = 'x'.repeat(2_048)
  const longest = 'x'.repeat(4_096)
  t.equal(
    (await authorize(client, '192.0.2.1', { overrides: { state: longestState, login_hint: longest } }))
      .status,
    303,
  )
  t.equal((await push(server, client, '192.0.2.1', { state: longestState, login_hint: longest })).status, 201)
  const tooLong: readonly Parameters[] = [
    { state: `${longestState}x` },
    { login_hint: `${longest}x` },
    { unknown: `${longest}x` },
    { [`${longest}x`]: '' },
    Object.fromEntries(['nonce', 'login_hint'].map((name) => [name, longest])),
  ]
  for (const overrides of tooLong) {
    const rejected = await authorize(client, '192.0.2.1', { overrides })
    t.match(rejected, {
      status: 400,
      json: { error: 'invalid_request', error_description: /2048|4096|8192/ },
    })
    t.equal(rejected.headers.get('location'), null)
    t.match(await push(server, client, '192.0.2.1', overrides), {
      status: 400,
      json: { error: 'invalid_request', error_description: /2048|4096|8192/ },
    })
  }
  const page = await authorize(client, '192.0.2.1', {
    overrides: { state: `${longestState}x` },
    headers: BROWSER,
  })
  t.equal(page.status, 400)
  t.match(page.headers.get('content-type'), 'text/html')
  t.same(countSqlite(server), { Interaction: 1, PushedAuthorizationRequest: 1 })
})

t.test(
  'an integration has its own rate limit and storage share, independent of the client address',
  async (t) => {
    const { server, integration } = await startWithIntegration(t, { perAddress: 3, pending: 2 })
    const anonymous = await registerClient(server)
    const confidential = await registerClient(server, { token_endpoint_auth_method: 'client_secret_post' })
    const person = await push(server, anonymous, '192.0.2.1')
    t.equal(person.status, 201)
    for (const address of ['192.0.2.1', '192.0.2.1', '2001:db8::1'])
      t.equal((await push(server, integration, address)).status, 201)

    t.equal(
      (await usePushed(anonymous, person, '192.0.2.1')).status,
      303,
      'the share of the address is unused',
    )
    t.equal((await push(server, anonymous, '192.0.2.1')).status, 201)
    const { clientSecret } = confidential
    t.equal((await push(server, confidential, '192.0.2.1', { client_secret: clientSecret })).status, 201)
    t.match(
      await push(server, confidential, '192.0.2.1', { client_secret: clientSecret }),
      { status: 429, json: { error_description: /from this address/ } },
      'anyone can register a client with a secret, so the address counts',
    )
    t.match(await push(server, integration, '192.0.2.2'), {
      status: 429,
      json: { error: 'rate_limited', error_description: /from this client/ },
    })
    t.match(
      await push(server, integration, '192.0.2.1', { client_secret: 'wrong' }),
      { status: 429, json: { error_description: /from this address/ } },
      'only the correct secret selects the limit of the integration',
    )
    t.match(await push(server, integration, '192.0.2.3', { client_secret: 'wrong' }), {
      status: 401,
      json: { error: 'invalid_client' },
    })
  },
)

t.test('the rate limit counts a pushed request and its first use once', async (t) => {
  const server = await startServer(t, {
    authorization: {
      rateLimit: { perAddress: 3, windowMs: 600_000 },
      pending: { perAddress: 200, total: 10_000 },
    },
  })
  const client = await registerClient(server)
  const first = await push(server, client, '192.0.2.1')
  t.equal((await usePushed(client, first, '192.0.2.1')).status, 303)
  t.equal((await usePushed(client, first, '192.0.2.1')).status, 303, 'the second use counts')
  const second = await push(server, client, '192.0.2.1')
  t.equal((await usePushed(client, second, '192.0.2.1')).status, 303)
  for (const used of [first, second]) t.equal((await usePushed(client, used, '192.0.2.1')).status, 429)
  const unknown = authorize(client, '192.0.2.1', { overrides: { request_uri: 'urn:example:unknown' } })
  t.equal((await unknown).status, 429, 'an unknown request_uri counts')
})

t.test('the number of stored authorization requests is bounded on SQLite', async (t) => {
  await bounds(t, async (bound) => {
    const server = await startServer(t, bound)
    return { server, count: async () => countSqlite(server) }
  })
})

t.test('the number of stored authorization requests is bounded on Redis', async (t) => {
  await bounds(t, async (bound) => {
    const redis = await startRedis({ folder: t.testdir() })
    t.teardown(() => redis.stop())
    const keys = { signingKeysFile: undefined, cookieKeysFile: undefined }
    const server = await startServer(t, {
      ...bound,
      ...keys,
      store: { type: 'redis' },
      redis: { url: redis.url },
    })
    return { server, count: () => countRedis(redis.url) }
  })
})

type Counts = Readonly<Record<string, number>>

async function bounds(
  t: Test,
  start: (
    bound: Pick<AuthorizationServerConfig, 'authorization'>,
  ) => Promise<{ readonly server: AuthorizationServer; readonly count: () => Promise<Counts> }>,
): Promise<void> {
  const { server, count } = await start({
    authorization: {
      rateLimit: { perAddress: 1_000, windowMs: 600_000 },
      pending: { perAddress: 5, total: 20 },
    },
  })
  const client = await registerClient(server)
  const alice = openBrowser(server.baseUrl)
  const pages = await alice.visit(client.authorizeUrl('openid', makePkce().challenge))
  if (pages.left) throw new Error('alice does not see the sign-in page')
  const stillThere = async (): Promise<number> => {
    const page = await alice.visit(pages.url)
    return page.left ? 0 : page.status
  }

  for (let i = 0; i < 30; i++) t.equal((await authorize(client, '192.0.2.1')).status, 303)
  t.same(await count(), { Interaction: 6 }, 'each address has a share, and its oldest request is evicted')
  t.equal(await stillThere(), 200)

  for (let address = 2; address <= 8; address++)
    for (let i = 0; i < 5; i++) await authorize(client, `192.0.2.${address}`)
  t.same(await count(), { Interaction: 20 }, 'all addresses together stay within the total')
  t.equal(await stillThere(), 200, 'the addresses with the most lose theirs first')

  for (let i = 0; i < 30; i++) t.equal((await push(server, client, '192.0.2.1')).status, 201)
  t.same(
    await count(),
    { Interaction: 20, PushedAuthorizationRequest: 5 },
    'pushed requests have separate bounds',
  )

  const neighbours = Array.from({ length: 40 }, (_, subnet) => `2001:db8:1:${subnet.toString(16)}::1`)
  const bob = await push(server, client, '192.0.2.100')
  for (const address of neighbours) {
    t.equal((await authorize(client, address)).status, 303)
    t.equal((await push(server, client, address)).status, 201)
  }
  t.same(await count(), { Interaction: 20, PushedAuthorizationRequest: 20 })
  t.equal(await stillThere(), 200, 'the addresses of an IPv6 /48 lose theirs first')
  t.equal((await usePushed(client, bob, '192.0.2.100')).status, 303)

  const done = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid' })
  t.ok(done.accessToken, 'sign-in works at the bound')
  t.equal(await stillThere(), 200)
}

function countSqlite(server: AuthorizationServer): Counts {
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME), { readOnly: true })
  const rows = database
    .prepare(
      "select model, count(*) as found from artifacts where model in ('Interaction', ?) group by model",
    )
    .all(PUSHED.pending)
  database.close()
  return Object.fromEntries(rows.map((row) => [String(row['model']), Number(row['found'])]))
}

async function countRedis(url: string): Promise<Counts> {
  const redis = new Redis(url)
  const counts: Record<string, number> = {}
  for (const model of [OPEN.pending, PUSHED.pending]) {
    const found = await redis.keys(`{scopegate}:artifact:${model}:*`)
    if (found.length > 0) counts[model] = found.length
  }
  await redis.quit()
  return counts
}
