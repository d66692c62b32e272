import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const HEAD = 'Host: api.test\r\nConnection: close\r\n'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow, mount: /v1/trains }
routes:
  - { name: root, match: { methods: [GET], path: / } }
  - { name: list, match: { methods: [GET], path: /stations } }
  - { name: read, match: { methods: [GET], path: "/stations/{id}" } }
  - { name: slash, match: { methods: [GET], path: /lines/ } }
  - { name: below, match: { methods: [GET], path: "/files/**" } }
  - { name: rewritten, match: { methods: [GET], path: "/old/{id}" }, rewrite: { path: "/v1/trains/new/{id}" } }
  - { name: unmounted, mount: /, match: { methods: [GET], path: /status } }
  - { name: all, mount: /all, match: { methods: [GET], path: /** } }
`

t.test(
  'a route below a mount matches with the prefix, and the upstream gets the path without it',
  async (t) => {
    const { raw, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
    for (const [target, forwarded] of [
      ['/v1/trains/', '/'],
      ['/v1/trains/stations', '/stations'],
      ['/v1/trains/stations?near=%2F..', '/stations?near=%2F..'],
      ['/v1/trains/stations/a%20b', '/stations/a%20b'],
      ['/v1/trains/stations/%252F', '/stations/%252F'],
      ['/v1/trains/lines/', '/lines/'],
      ['/v1/trains/files', '/files'],
      ['/v1/trains/files/', '/files/'],
      ['/v1/trains/files/a/b', '/files/a/b'],
      ['/v1/trains/old/7', '/v1/trains/new/7'],
      ['/status', '/status'],
      ['/all', '/'],
      ['/all/', '/'],
      ['/all/all/x', '/all/x'],
    ] as const) {
      const before = upstream.requests.length
      t.match(await raw(`GET ${target} HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 200 /, target)
      t.same(
        upstream.requests.slice(before).map(({ target }) => target),
        [forwarded],
      )
    }
  },
)

t.test('a request without the mount prefix, or with another prefix, gets 404', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
  for (const target of [
    '/stations',
    '/v1/trains',
    '/v1/trainsstations',
    '/v1/trains/lines',
    '/V1/trains/stations',
    '/v1/trains/status',
    '/v1/trains/v1/trains/stations',
    '/allx',
  ])
    t.match(await raw(`GET ${target} HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 404 [\s\S]*not_found/, target)
  t.equal(upstream.requests.length, 0)
})

t.test('every forwarded request stays within the mount', async (t) => {
  const { raw, upstream, authorizationServer } = await startGatewayUnderTest(t, { policy: POLICY })
  for (const target of [
    '/all/../admin',
    '/all/%2e%2e/admin',
    '/all//admin',
    '/all/%2fadmin',
    '/all/..;/admin',
    '/all/\\admin',
    '/v1/trains/files/%2e%2e/x',
    '/v1/trains/stations/..',
  ])
    t.match(await raw(`GET ${target} HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 400 /, target)
  t.equal(upstream.bytes + authorizationServer.bytes, '')
})
