import t, { type Test } from 'tap'
import { DPOP_ALGORITHMS } from '../../oauth/dpop/algorithms.ts'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { send } from '../fixtures/send.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge }
routes:
  - { name: course, match: { methods: [GET], path: /api/courses }, scopes: { all: [courses:read] } }
  - { name: mcp, match: { methods: [GET, POST], path: "/mcp/**" }, scopes: { all: [posts:read] } }
  - { name: wide, match: { methods: [GET, DELETE], path: "/**" }, scopes: { all: [orders:read] } }
`
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/**
 * The gateway introspects tokens of issuer A and verifies JWTs of issuer B. The MCP server accepts only tokens of B.
 */
async function start(t: Test) {
  const b = await startJwtIssuer()
  t.teardown(b.close)
  const world = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      issuers: [...config.issuers, aJwtIssuerConfig(b.issuer)],
      resources: [
        { path: '/mcp', name: 'Tools', issuers: [b.issuer], documentation: 'https://docs.test/mcp' },
        { path: '/reports', policy: 'https://docs.test/policy', terms: 'https://docs.test/terms' },
      ],
    }),
  })
  const { gateway } = world
  const aud = (path: string, scope = 'posts:read orders:read') =>
    b.sign({ aud: BASE_URL + path, scope, sub: 'user-1', client_id: 'client-1' })
  return { ...world, b, aud, get: (path: string, token?: string) => send(gateway.url + path, { token }) }
}

t.test('§3.1 of RFC 9728: each resource has a separate document under its path', async (t) => {
  const { b, get } = await start(t)
  t.same((await get(`${WELL_KNOWN}/mcp`)).json, {
    resource: `${BASE_URL}/mcp`,
    authorization_servers: [b.issuer],
    scopes_supported: ['orders:read', 'posts:read'],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
    resource_name: 'Tools',
    resource_documentation: 'https://docs.test/mcp',
  })
  t.match((await get(`${WELL_KNOWN}/reports`)).json, {
    resource: `${BASE_URL}/reports`,
    authorization_servers: [BASE_URL, b.issuer],
    scopes_supported: ['orders:read'],
    resource_name: 'Test API',
    resource_documentation: `${BASE_URL}/auth.md`,
    resource_policy_uri: 'https://docs.test/policy',
    resource_tos_uri: 'https://docs.test/terms',
  })
  t.match((await get(WELL_KNOWN)).json, {
    resource: BASE_URL,
    scopes_supported: ['courses:read', 'orders:read'],
  })
})

t.test(
  '§3.3 of RFC 9728: every other path gets 404 in JSON, never the document of another resource',
  async (t) => {
    const { get } = await start(t)
    for (const path of [
      '/',
      '/mcp/',
      '/mcp/x',
      '/MCP',
      '/api/courses',
      '/mcpx',
      '/mcp%2Fx',
      '/reports/mcp',
    ]) {
      const answer = await get(WELL_KNOWN + path)
      t.ok([400, 404].includes(answer.status), path)
      t.match(answer.headers.get('content-type'), 'application/json', path)
      t.notMatch(answer.text, 'authorization_servers', path)
    }
  },
)

t.test(
  'the document of a resource is public, cacheable and readable by pages of other origins',
  async (t) => {
    const { gateway, upstream } = await start(t)
    const url = `${gateway.url}${WELL_KNOWN}/mcp`
    const response = await send(url, { headers: { 'x-forwarded-host': 'evil.test' } })
    t.match(response.json, { resource: `${BASE_URL}/mcp` })
    t.equal(response.headers.get('access-control-allow-origin'), '*')
    t.equal(response.headers.get('cache-control'), 'public, max-age=300')
    const etag = response.headers.get('etag') ?? ''
    t.equal((await send(url, { headers: { 'if-none-match': etag } })).status, 304)
    t.equal((await send(url, { method: 'HEAD' })).status, 200)
    t.equal((await send(url, { method: 'POST', body: 'x' })).status, 405)
    t.equal((await send(url, { method: 'OPTIONS' })).status, 204)
    t.equal(upstream.requests.length, 0)
  },
)

const AS_METADATA = '/.well-known/oauth-authorization-server'

t.test(
  'compat.resourcePathAliases adds paths of the authorization server metadata only below its resources',
  async (t) => {
    const { gateway, authorizationServer, upstream } = await startGatewayUnderTest(t, {
      policy: POLICY,
      change: (config) => ({
        ...config,
        issuers: [
          ...config.issuers,
          aJwtIssuerConfig('https://elsewhere.test', { keys: { by: 'uri', uri: 'http://127.0.0.1:9/' } }),
        ],
        resources: [
          { path: '/mcp', issuers: ['https://elsewhere.test', BASE_URL] },
          { path: '/reports/v1' },
          { path: '/theirs', issuers: ['https://elsewhere.test'] },
        ],
        compat: { resourcePathAliases: true },
      }),
    })
    const asked = () => authorizationServer.requests.map(({ target }) => target)
    for (const path of ['/mcp', '/reports/v1', '/mcp?x=/theirs', '/%6dcp'])
      t.equal((await send(`${gateway.url}${AS_METADATA}${path}`)).status, 200, path)
    t.equal((await send(`${gateway.url}${AS_METADATA}/mcp`, { method: 'HEAD' })).status, 200)
    t.same(new Set(asked()), new Set([AS_METADATA, `${AS_METADATA}?x=/theirs`]))
    const before = asked().length
    for (const path of [
      '/',
      '/theirs',
      '/reports',
      '/mcp/',
      '/mcp/x',
      '/mcp/../theirs',
      '/MCP',
      '/mcp%2Fx',
    ]) {
      const answer = await send(`${gateway.url}${AS_METADATA}${path}`)
      t.ok([400, 404].includes(answer.status), path)
      t.match(answer.headers.get('content-type'), 'application/json', path)
    }
    t.equal((await send(`${gateway.url}${AS_METADATA}/mcp`, { method: 'POST', body: 'x' })).status, 405)
    t.equal(asked().length, before, 'the authorization server received no other request')
    t.equal(upstream.requests.length, 0, 'nor did a wide route')
  },
)

t.test('compat.resourcePathAliases is off by default', async (t) => {
  const { gateway, authorizationServer } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, resources: [{ path: '/mcp' }] }),
  })
  const answer = await send(`${gateway.url}${AS_METADATA}/mcp`)
  t.match(answer, { status: 404, json: { error: 'not_found' } })
  t.equal(authorizationServer.requests.length, 0)
})

t.test('§5.1 of RFC 9728: a challenge contains the metadata URL of the requested resource', async (t) => {
  const { get, aud } = await start(t)
  for (const [path, metadata, scope] of [
    ['/mcp', '/mcp', 'posts:read'],
    ['/mcp/tools', '/mcp', 'posts:read'],
    ['/mcpx', '', 'orders:read'],
    ['/reports/1', '/reports', 'orders:read'],
    ['/api/courses', '', 'courses:read'],
  ] as const) {
    const resource_metadata = `${BASE_URL}${WELL_KNOWN}${metadata}`
    const nobody = await get(path)
    t.equal(nobody.status, 401)
    t.same(parseChallenge(nobody.headers.get('www-authenticate')), {
      scheme: 'Bearer',
      parameters: { resource_metadata, scope },
    })
    const wrong = await get(path, aud('/elsewhere'))
    t.equal(wrong.status, 401)
    t.match(parseChallenge(wrong.headers.get('www-authenticate')).parameters, {
      error: 'invalid_token',
      resource_metadata,
    })
    const powerless = await get(path, aud(metadata, 'openid'))
    t.equal(powerless.status, 403)
    t.match(parseChallenge(powerless.headers.get('www-authenticate')).parameters, {
      error: 'insufficient_scope',
      resource_metadata,
      scope,
    })
  }
})

t.test(
  '§2 of RFC 8707: a token for one resource gives no access to a parent, child or sibling resource',
  async (t) => {
    const { get, aud, upstream } = await start(t)
    const paths = { '': '/else', '/mcp': '/mcp/tools', '/reports': '/reports/1' }
    for (const [own, path] of Object.entries(paths))
      for (const audience of Object.keys(paths)) {
        const before = upstream.requests.length
        const answer = await get(path, aud(audience))
        t.equal(answer.status, own === audience ? 200 : 401, `${path} with a token for ${audience}`)
        t.equal(upstream.requests.length - before, own === audience ? 1 : 0)
      }
    t.equal((await get('/mcp', aud('/mcp/'))).status, 200, 'one trailing slash does not matter')
    t.equal((await get('/mcp', aud('/mcp//'))).status, 401, 'two do')
  },
)

t.test(
  'a wide route checks a token against the resource of the request path, not of the route template',
  async (t) => {
    const { gateway, aud, upstream } = await start(t)
    const remove = (path: string, token: string) => send(gateway.url + path, { method: 'DELETE', token })
    t.equal((await remove('/mcp/tools', aud(''))).status, 401, 'DELETE /mcp/tools matches the route /**')
    t.equal((await remove('/mcp/tools', aud('/mcp'))).status, 200)
    t.equal((await remove('/%6dcp/tools', aud(''))).status, 401, 'the canonical path counts')
    t.equal((await remove('/%6dcp/tools', aud('/mcp'))).status, 200)
    t.equal((await remove('/else', aud('/mcp'))).status, 401)
    t.same(
      upstream.requests.map(({ target }) => target),
      ['/mcp/tools', '/mcp/tools'],
    )
  },
)

t.test(
  'a token of an issuer that the resource does not list is rejected without introspection',
  async (t) => {
    const { get, issuer, b, upstream } = await start(t)
    const keyFetches = b.keyFetches
    const opaque = issuer.store('opaque-of-a', { aud: `${BASE_URL}/mcp`, scope: 'posts:read orders:read' })
    const answer = await get('/mcp/tools', opaque)
    t.equal(answer.status, 401)
    t.match(parseChallenge(answer.headers.get('www-authenticate')).parameters, { error: 'invalid_token' })
    t.equal(issuer.asked.length, 0, 'A receives no request')
    t.equal(b.keyFetches, keyFetches, 'nor does B')

    const wide = issuer.store('wide-of-a', {
      aud: [BASE_URL, `${BASE_URL}/mcp`, `${BASE_URL}/reports`],
      scope: 'posts:read orders:read',
    })
    t.equal((await get('/reports', wide)).status, 200, 'cached where A is accepted')
    t.equal((await get('/mcp', wide)).status, 401, 'and rejected where A is not')
    t.equal(issuer.asked.length, 1)
    t.equal(upstream.requests.length, 1)
  },
)

t.test('the root resource can also list its issuers', async (t) => {
  const b = await startJwtIssuer()
  t.teardown(b.close)
  const { gateway, issuer } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      issuers: [...config.issuers, aJwtIssuerConfig(b.issuer)],
      resources: [{ path: '/', issuers: [BASE_URL] }, { path: '/mcp' }],
    }),
  })
  t.match((await send(gateway.url + WELL_KNOWN)).json, {
    resource: BASE_URL,
    authorization_servers: [BASE_URL],
  })
  const aud = [BASE_URL, `${BASE_URL}/mcp`]
  const token = b.sign({ aud, scope: 'orders:read posts:read' })
  t.equal((await send(`${gateway.url}/else`, { token })).status, 401)
  t.equal((await send(`${gateway.url}/mcp`, { token })).status, 200)
  const expired = issuer.store('expired', { exp: 1 })
  t.match((await send(`${gateway.url}/else`, { token: expired })).text, `${BASE_URL}/api/oauth/token`)
  const mcp = await send(`${gateway.url}/mcp`, { token: expired })
  t.match(
    mcp.text,
    'Get a new token from its issuer.',
    'the token endpoint is ambiguous with several issuers',
  )
})
