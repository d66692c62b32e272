import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const HEAD = 'Host: api.test\r\nConnection: close\r\n'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
routes:
  - { name: one, match: { methods: [GET], path: "/api/courses/{id}" }, rewrite: { path: "/internal/courses/{id}" } }
  - { name: two, match: { methods: [GET], path: "/a/{x}/b/{y}" }, rewrite: { path: "/{y}/{x}/" } }
  - { name: below, match: { methods: [GET], path: "/files/{bucket}/**" }, rewrite: { path: "/b/{bucket}/**" } }
  - { name: stripped, match: { methods: [GET], path: "/strip/**" }, rewrite: { path: "/**" } }
  - { name: fixed, match: { methods: [GET], path: "/old/**" }, rewrite: { path: /new } }
  - { name: plain, match: { methods: [GET], path: "/plain/**" } }
`

t.test('parameter values of a request cannot change the structure of the rewritten path', async (t) => {
  const { raw, upstream, authorizationServer } = await startGatewayUnderTest(t, { policy: POLICY })
  for (const target of [
    '/strip/../admin',
    '/strip/%2e%2e/admin',
    '/strip/.%2E',
    '/strip//admin',
    '/strip/%2Fadmin',
    '/strip/%2fadmin',
    '/strip/%5c..%5cadmin',
    '/strip/..;/admin',
    '/strip/..;x=1/admin',
    '/strip/%2e%2e;/admin',
    '/strip/http://evil.test/',
    '/strip/\\admin',
    '/strip/%00',
    '/files/../x',
    '/files/%2e%2e/x',
    '/files/./x',
    '/files/..;/x',
    '/api/courses/..',
    '/api/courses/%2e%2e',
    '/api/courses/%2e',
    '/api/courses/..%2f',
    '/a/../b/y',
  ])
    t.match(await raw(`GET ${target} HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 400 /, target)
  t.equal(upstream.bytes + authorizationServer.bytes, '')
})

t.test('the upstream gets the rewritten path with the original query', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
  for (const [target, forwarded] of [
    ['/api/courses/42', '/internal/courses/42'],
    ['/api/courses/42?a=%2F..&b', '/internal/courses/42?a=%2F..&b'],
    ['/api/courses/a%20b', '/internal/courses/a%20b'],
    ['/api/courses/%61', '/internal/courses/a'],
    ['/api/courses/%252e%252e', '/internal/courses/%252e%252e'],
    ['/api/courses/%252F', '/internal/courses/%252F'],
    ['/api/courses/{id}'.replace(/[{}]/g, encodeURIComponent), '/internal/courses/%7Bid%7D'],
    ['/api/courses/caf%c3%a9', '/internal/courses/caf%C3%A9'],
    ['/api/courses/$&', '/internal/courses/$&'],
    ['/a/1/b/2', '/2/1/'],
    ['/files/b', '/b/b'],
    ['/files/b/', '/b/b/'],
    ['/files/b/c/d%3Fe', '/b/b/c/d%3Fe'],
    ['/strip', '/'],
    ['/strip/', '/'],
    ['/strip/x/y/', '/x/y/'],
    ['/old/anything', '/new'],
    ['/plain/x', '/plain/x'],
  ] as const) {
    t.match(await raw(`GET ${target} HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 200 /, target)
    t.equal(upstream.requests.at(-1)?.target, forwarded, target)
  }
})

t.test('the base path of the upstream precedes the rewritten path', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api' ? { ...one, urls: one.urls.map((url) => `${url}/base/v1/`) } : one,
      ),
    }),
  })
  for (const [target, forwarded] of [
    ['/strip/x', '/base/v1/x'],
    ['/strip', '/base/v1/'],
    ['/api/courses/1', '/base/v1/internal/courses/1'],
  ]) {
    await raw(`GET ${target} HTTP/1.1\r\n${HEAD}\r\n`)
    t.equal(upstream.requests.at(-1)?.target, forwarded)
  }
})

t.test('a rewritten path above the target length limit is rejected', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, limits: { ...config.limits, targetBytes: 100 } }),
  })
  const answer = await raw(`GET /api/courses/${'x'.repeat(85)} HTTP/1.1\r\n${HEAD}\r\n`)
  t.match(answer, /^HTTP\/1\.1 414 /)
  t.equal(upstream.bytes, '')
})
