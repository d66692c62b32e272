import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { rateLimit: { requests: 3, per: 1h, by: client } }
routes:
  - { name: one, match: { methods: [GET, POST], path: /one }, scopes: { all: [courses:read] } }
  - { name: two, match: { methods: [GET], path: /two } }
  - { name: people, match: { methods: [GET], path: /people }, rateLimit: { requests: 1, per: 1h, by: subject } }
  - { name: addresses, match: { methods: [GET], path: /addresses }, rateLimit: { requests: 1, per: 1h, by: address } }
  - { name: everybody, match: { methods: [GET], path: "/everybody/{x}" }, rateLimit: { requests: 2, per: 1h, by: route } }
`

t.test('a request above the limit gets 429 with a wait time, and is not forwarded', async (t) => {
  const under = await startGatewayUnderTest(t, { policy: POLICY })
  under.issuer.store('app', { client_id: 'app', scope: 'courses:read' })
  const url = `${under.gateway.url}/one`
  for (const remaining of [2, 1, 0]) {
    const answer = await send(url, { token: 'app' })
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('ratelimit-policy'), '"default";q=3;w=3600')
    t.match(answer.headers.get('ratelimit'), new RegExp(`^"default";r=${remaining};t=\\d+$`))
    t.equal(answer.headers.get('retry-after'), null)
  }
  const rejected = await send(url, { token: 'app' })
  t.equal(rejected.status, 429)
  t.match(rejected.json, {
    error: 'rate_limited',
    error_description: /^Too many requests\. Try again in \d+ seconds\.$/,
    retry_after: Number,
    request_id: rejected.headers.get('x-request-id'),
  })
  t.equal(rejected.headers.get('retry-after'), String(rejected.json['retry_after']))
  const waitSeconds = Number(rejected.headers.get('retry-after'))
  t.ok(waitSeconds > 1_190 && waitSeconds <= 1_200, `${waitSeconds} s: a third of an hour`)
  t.match(rejected.headers.get('ratelimit'), /^"default";r=0;t=\d+$/)
  t.equal(rejected.headers.get('ratelimit-policy'), '"default";q=3;w=3600')
  t.equal(rejected.headers.get('x-scopegate-error'), '1')
  t.equal(rejected.headers.get('www-authenticate'), null)
  t.equal(under.upstream.requests.length, 3)

  const line = await until('the line', async () =>
    under.log().find((one) => one['request_id'] === rejected.headers.get('x-request-id')),
  )
  t.match(line, {
    'error.type': 'rate_limited',
    'auth.decision': 'deny',
    'auth.reason': 'rate_limited',
    'rate_limit.remaining': 0,
  })
  const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  t.match(metrics, /scopegate_rate_limit_total\{route="test\/one",outcome="allowed"\} 3\n/)
  t.match(metrics, /scopegate_rate_limit_total\{route="test\/one",outcome="limited"\} 1\n/)
  t.match(
    metrics,
    /scopegate_auth_decisions_total\{route="test\/one",decision="deny",reason="rate_limited"\} 1\n/,
  )
  t.match(metrics, /scopegate_rate_limit_entries 1\n/)
})

t.test('clients, subjects, addresses and routes have separate limits', async (t) => {
  const { gateway, issuer } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, trustedProxies: ['127.0.0.1'] }),
  })
  const ask = async (path: string, token?: string, from = '203.0.113.1') =>
    (await send(gateway.url + path, { token, headers: { 'x-forwarded-for': from } })).status
  issuer.store('alice-app', { sub: 'alice', client_id: 'app', scope: 'courses:read' })
  issuer.store('bob-app', { sub: 'bob', client_id: 'app', scope: 'courses:read' })
  issuer.store('alice-other', { sub: 'alice', client_id: 'other', scope: 'courses:read' })

  t.strictSame([await ask('/people', 'alice-app'), await ask('/people', 'alice-other')], [200, 429])
  t.equal(await ask('/people', 'bob-app'), 200)

  for (const token of ['alice-app', 'bob-app', 'alice-app']) t.equal(await ask('/one', token), 200)
  t.equal(await ask('/one', 'bob-app'), 429, 'one client for every subject')
  t.equal(await ask('/one', 'alice-other'), 200)
  t.equal(await ask('/two', 'bob-app'), 200, 'another route')

  t.strictSame([await ask('/addresses'), await ask('/addresses', 'alice-app')], [200, 429])
  t.equal(await ask('/addresses', undefined, '203.0.113.2'), 200)
  t.strictSame(
    [
      await ask('/addresses', undefined, '2001:db8::1'),
      await ask('/addresses', undefined, '2001:db8::2'),
      await ask('/addresses', undefined, '2001:db8:0:1::1'),
    ],
    [200, 429, 200],
    'of IPv6 the /64 counts',
  )

  t.strictSame(
    [await ask('/everybody/1'), await ask('/everybody/2', 'alice-app'), await ask('/everybody/3', 'bob-app')],
    [200, 200, 429],
  )
})

t.test(
  'the limit of anonymous callers is per address, and their headers cannot change the address',
  async (t) => {
    const { raw, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
    const statuses: string[] = []
    for (let i = 1; i <= 6; i++) {
      const answer = await raw(
        `GET /two HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nX-Forwarded-For: 203.0.113.${i}\r\nForwarded: for=203.0.113.${i}\r\nX-Real-IP: 203.0.113.${i}\r\nX-Auth-Subject: s${i}\r\nX-Auth-Client-Id: c${i}\r\n\r\n`,
      )
      statuses.push(answer.slice(9, 12))
    }
    t.strictSame(statuses, ['200', '200', '200', '429', '429', '429'])
    t.equal(upstream.requests.length, 3)
  },
)

t.test('a request that is rejected for another reason is not counted', async (t) => {
  const { gateway, issuer } = await startGatewayUnderTest(t, { policy: POLICY })
  issuer.store('app', { client_id: 'app', scope: 'courses:read' })
  issuer.store('weak', { client_id: 'app', scope: 'openid' })
  for (let i = 0; i < 5; i++) {
    t.equal((await send(`${gateway.url}/one`, { token: 'weak' })).status, 403)
    t.equal((await send(`${gateway.url}/one`, { token: 'unknown' })).status, 401)
    t.equal((await send(`${gateway.url}/one`, { token: 'app', method: 'PUT' })).status, 405)
    const preflight = { origin: 'https://a.test', 'access-control-request-method': 'GET' }
    t.equal((await send(`${gateway.url}/one`, { method: 'OPTIONS', headers: preflight })).status, 204)
  }
  t.match((await send(`${gateway.url}/one`, { token: 'app' })).headers.get('ratelimit'), /r=2/)
})

t.test('a request above the limit is rejected before its body is read', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
  for (let i = 0; i < 3; i++) await send(`${gateway.url}/one`)
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  t.teardown(() => socket.destroy())
  socket.write(
    'POST /one HTTP/1.1\r\nHost: api.test\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n',
  )
  const [chunk] = await once(socket, 'data')
  t.match(String(chunk), /^HTTP\/1\.1 429 /, 'no 100 Continue')
  t.equal(upstream.requests.length, 3)
})

t.test('the gateway replaces rate limit headers of the upstream with its own headers', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, { policy: POLICY })
  upstream.reply(
    'HTTP/1.1 200 OK\r\nratelimit: "default";r=1;t=1\r\nratelimit-policy: "default";q=1;w=1\r\ncontent-length: 2\r\n\r\n{}',
  )
  const answer = await raw('GET /two HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
  t.same(answer.match(/^ratelimit.*$/gim), [
    'ratelimit-policy: "default";q=3;w=3600',
    'ratelimit: "default";r=2;t=1200',
  ])
})

t.test('a route without a limit sends no rate limit headers', async (t) => {
  const { raw, upstream, gateway } = await startGatewayUnderTest(t)
  upstream.reply('HTTP/1.1 200 OK\r\nratelimit: "theirs";r=1;t=1\r\ncontent-length: 2\r\n\r\n{}')
  const answer = await raw('GET /pub/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
  t.same(
    answer.match(/^ratelimit.*$/gim),
    ['ratelimit: "theirs";r=1;t=1'],
    'the headers of the upstream are forwarded',
  )
  const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
  t.notMatch(metrics, /scopegate_rate_limit_total\{/)
})

t.test('two gateways with one Redis enforce one limit, and continue when Redis stops or hangs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-limits-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const redis = await startRedis({ folder })
  let isRunning = true
  t.teardown(() => (isRunning ? redis.stop() : undefined))
  const policy = POLICY.replace('requests: 3', 'requests: 20')
  const change = (config: GatewayConfig) => ({
    ...config,
    trustedProxies: ['127.0.0.1'],
    redis: { url: redis.url },
  })
  const one = await startGatewayUnderTest(t, { policy, change })
  const two = await startGatewayUnderTest(t, { policy, change })
  let from = ''
  const ask = async (under: typeof one, path = '/two') =>
    (await send(under.gateway.url + path, { headers: { 'x-forwarded-for': from } })).status
  const metricsOf = async ({ gateway }: typeof one) =>
    (await fetch(`${gateway.managementUrl}/metrics`)).text()
  const counted = async (under: typeof one) =>
    sumSamples(await metricsOf(under), 'scopegate_rate_limit_fallback_total')
  let tried = 0
  // Repeats with another caller, because a gateway counts locally when Redis does not respond in time.
  const statuses = await until('Redis counted them all', async () => {
    from = `203.0.113.${++tried}`
    const before = (await counted(one)) + (await counted(two))
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i % 2 === 0 ? one : two)))
    return (await counted(one)) + (await counted(two)) === before && answers
  })
  t.equal(statuses.filter((status) => status === 200).length, 20)
  t.equal(statuses.filter((status) => status === 429).length, 40)

  const operator = new Redis(redis.url)
  operator.on('error', () => undefined)
  t.teardown(() => operator.disconnect())
  await operator.client('PAUSE', 60_000)
  const paused = await Promise.all(Array.from({ length: 40 }, () => ask(one, '/one')))
  t.equal(paused.filter((status) => status === 200).length, 20, 'open, but bounded')
  t.equal(paused.filter((status) => status === 429).length, 20)
  t.equal(await ask(one, '/two'), 429, 'a caller that Redis rejected stays rejected')

  await redis.stop()
  isRunning = false
  const away = await Promise.all(Array.from({ length: 40 }, () => ask(two, '/one')))
  t.equal(away.filter((status) => status === 200).length, 20)
  t.match(await metricsOf(one), /scopegate_rate_limit_fallback_total\{reason="failed"\} [1-9]/)
})
