import t from 'tap'
import { DPOP_ALGORITHMS } from '../../oauth/dpop/algorithms.ts'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import type { LooseJson } from '../fixtures/loose-json.ts'

t.test(
  'RFC 9728 §3.2: the metadata names the resource, its issuer and the read scopes of its routes',
  async (t) => {
    const { gateway } = await startGatewayUnderTest(t)
    const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource`, {
      headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test' },
    })
    t.equal(response.status, 200)
    t.equal(response.headers.get('content-type'), 'application/json')
    t.same(await response.json(), {
      resource: BASE_URL,
      authorization_servers: [BASE_URL],
      scopes_supported: ['courses:read', 'orders:read', 'posts:read', 'pages:read'],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
      resource_name: 'Test API',
      resource_documentation: `${BASE_URL}/auth.md`,
    })
  },
)

for (const path of [
  '/',
  '/openapi.json',
  '/auth.md',
  '/.well-known/api-catalog',
  '/.well-known/oauth-protected-resource',
])
  t.test(`${path} is public, cacheable and the same for every caller`, async (t) => {
    const { gateway, upstream } = await startGatewayUnderTest(t)
    const url = `${gateway.url}${path}`
    const plain = { 'accept-encoding': 'identity' }
    const response = await fetch(url, { headers: { ...plain, authorization: 'Bearer junk' } })
    t.equal(response.status, 200, 'the token is ignored')
    t.equal(response.headers.get('access-control-allow-origin'), '*')
    t.equal(response.headers.get('cache-control'), 'public, max-age=300')
    t.equal(response.headers.get('set-cookie'), null)
    const text = await response.text()
    t.equal(Number(response.headers.get('content-length')), Buffer.byteLength(text))

    const etag = response.headers.get('etag') ?? ''
    for (const known of [etag, `"x", W/${etag}`, '*']) {
      const unchanged = await fetch(url, { headers: { ...plain, 'if-none-match': known } })
      t.equal(unchanged.status, 304, known)
      t.equal(unchanged.headers.get('etag'), etag)
      t.equal(unchanged.headers.get('cache-control'), 'public, max-age=300')
      // A 304 response has no content headers. RFC 9110 section 15.4.5.
      t.same(
        [...unchanged.headers.keys()].filter((name) => name.startsWith('content-')),
        [],
        'no metadata of content that is not sent',
      )
      t.equal(await unchanged.text(), '')
    }
    t.equal((await fetch(url, { headers: { 'if-none-match': '"x"' } })).status, 200)

    const head = await fetch(url, { method: 'HEAD', headers: plain })
    t.equal(head.status, 200)
    t.equal(Number(head.headers.get('content-length')), Buffer.byteLength(text))
    t.equal((await fetch(url, { method: 'POST', body: 'x' })).status, 405)
    t.equal(upstream.bytes, '')
  })

t.test('a wide route adds no method to a reserved path', async (t) => {
  const { gateway, upstream, authorizationServer } = await startGatewayUnderTest(t, {
    policy: `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
routes:
  - { name: wide, match: { methods: [GET, DELETE, OPTIONS], path: "/**" } }
`,
  })
  const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(gateway.url + path, { method, headers })
    const error = /"error":"(\w+)"/.exec(await response.text())?.[1]
    return [response.status, error, response.headers.get('allow')]
  }
  const preflight = { origin: 'https://app.test', 'access-control-request-method': 'GET' }
  t.same(await ask('DELETE', '/openapi.json'), [405, 'method_not_allowed', 'GET, HEAD, OPTIONS'])
  t.same(await ask('OPTIONS', '/openapi.json'), [204, undefined, 'GET, HEAD, OPTIONS'])
  t.same(await ask('OPTIONS', '/openapi.json', preflight), [204, undefined, 'GET, HEAD, OPTIONS'])
  t.same(await ask('GET', '/api/oauth/token'), [405, 'method_not_allowed', 'OPTIONS, POST'])
  for (const method of ['GET', 'PUT', 'OPTIONS'])
    t.same(await ask(method, '/internal/revocations'), [404, 'not_found', null], method)
  t.equal(upstream.bytes + authorizationServer.bytes, '')
})

t.test('/ is a page for a browser and a JSON index for other clients', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const json = await fetch(gateway.url)
  t.match(await json.json(), { openapi: `${BASE_URL}/openapi.json`, auth: `${BASE_URL}/auth.md` })
  t.equal(json.headers.get('link'), '</openapi.json>; rel="service-desc", </auth.md>; rel="service-doc"')
  const page = await fetch(gateway.url, { headers: { accept: 'text/html,*/*' } })
  t.match(page.headers.get('content-security-policy'), /^default-src 'none'/)
  t.match(await page.text(), /^<!doctype html>/)
})

t.test('RFC 9727: the catalog lists the API and its description', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const catalog = await fetch(`${gateway.url}/.well-known/api-catalog`, { method: 'HEAD' })
  t.equal(
    catalog.headers.get('content-type'),
    'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
  )
  t.equal(catalog.headers.get('link'), '</.well-known/api-catalog>; rel="api-catalog"')
  const json = (await (await fetch(`${gateway.url}/.well-known/api-catalog`)).json()) as LooseJson
  const at = (relation: string, type: string, path: string) => ({
    [relation]: [{ href: BASE_URL + path, type }],
  })
  t.same(json, {
    linkset: [
      {
        anchor: BASE_URL,
        ...at('service-desc', 'application/json', '/openapi.json'),
        ...at('service-doc', 'text/markdown', '/auth.md'),
        ...at('service-meta', 'application/json', '/.well-known/oauth-protected-resource'),
      },
    ],
  })
})

t.test('/auth.md is short and specific to this server', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const text = await (await fetch(`${gateway.url}/auth.md`)).text()
  t.ok(text.split('\n').length < 200)
  for (const path of [
    '/api/oauth/register',
    '/oauth/authorize',
    '/api/oauth/token',
    '/api/oauth/revoke',
    '/openapi.json',
  ])
    t.ok(text.includes(`${BASE_URL}${path}`), path)
  t.match(text, /\| `storage:write` \| .+ \|/)
})

t.test(
  '/openapi.json describes the routes of the policies when no upstream has an OpenAPI document',
  async (t) => {
    const { gateway } = await startGatewayUnderTest(t)
    const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as LooseJson
    t.equal(document.openapi, '3.1.0')
    t.same(document.servers, [{ url: BASE_URL }])
    t.same(document.paths['/api/courses'].get.security, [{ oauth2: ['courses:read'] }, {}])
    t.same(document.paths['/api/challenged'].get.security, [{ oauth2: ['orders:read'] }])
    t.same(document.paths['/api/either'].get.security, [
      { oauth2: ['courses:read', 'posts:read'] },
      { oauth2: ['courses:read', 'pages:read'] },
      {},
    ])
    t.same(document.paths['/pub/{path}'].get.security, [{ oauth2: [] }, {}])
    t.match(document.paths['/api/courses'].post.responses['403'].description, /courses:write/)
    t.equal(Object.keys(document.components.securitySchemes.oauth2.flows.authorizationCode.scopes).length, 38)
  },
)
