import t, { type Test } from 'tap'
import { anUpstream, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { type FaultProxy, startFaultProxy } from '../fixtures/fault-proxy.ts'
import { OK_REPLY, type RecordingUpstream, startRecordingUpstream } from '../fixtures/recording-upstream.ts'

const UNAVAILABLE = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy'
const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { timeout: 2s }
routes:
  - name: retried
    match: { methods: [GET, POST, PUT, DELETE], path: "/retried/**" }
    retries: { attempts: 3, on: [connect, reset, 503] }
  - { name: once, match: { methods: [GET], path: "/once/**" } }
`

type Pair = { under: GatewayUnderTest; other: RecordingUpstream; proxy: FaultProxy }

/**
 * Starts a gateway and an upstream with two addresses. The test can interrupt the network connection to the first
 * address.
 */
async function startPair(t: Test, failures = 100, weights?: readonly number[]): Promise<Pair> {
  const other = await startRecordingUpstream()
  t.teardown(() => other.close())
  let proxy: FaultProxy | undefined
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    before: async (url) => {
      proxy = await startFaultProxy(url)
      t.teardown(() => proxy?.close())
    },
    change: (config) => ({
      ...config,
      upstreams: [
        {
          ...anUpstream('api', proxy?.url ?? '', other.url),
          weights,
          ejection: { failures, longestPauseMs: 30_000 },
        },
        anUpstream('auth', other.url),
      ],
    }),
  })
  if (proxy === undefined) throw new Error('the proxy is missing')
  return { under, other, proxy }
}

async function statuses(under: GatewayUnderTest, path: string, count: number, init?: RequestInit) {
  const found: Record<number, number> = {}
  for (let i = 0; i < count; i++) {
    const response = await fetch(`${under.gateway.url}${path}`, init)
    await response.text()
    found[response.status] = (found[response.status] ?? 0) + 1
  }
  return found
}

t.test('the gateway uses equally loaded addresses of an upstream in rotation', async (t) => {
  const { under, other } = await startPair(t)
  t.same(await statuses(under, '/once/x', 10), { 200: 10 })
  t.equal(under.upstream.requests.length, 5)
  t.equal(other.requests.length, 5)
})

t.test('weights divide the requests exactly and evenly', async (t) => {
  const { under, other } = await startPair(t, 100, [3, 1])
  const counts: number[] = []
  for (let cycle = 1; cycle <= 3; cycle++) {
    t.same(await statuses(under, '/once/x', 4), { 200: 4 })
    counts.push(under.upstream.requests.length, other.requests.length)
  }
  t.same(counts, [3, 1, 6, 2, 9, 3])
})

t.test('retries and an ejected address leave the weights of the other requests unchanged', async (t) => {
  const { under, other, proxy } = await startPair(t, 2, [1, 1])
  await proxy.down()
  t.same(await statuses(under, '/retried/x', 8), { 200: 8 })
  t.equal(other.requests.length, 8)
  t.equal(under.upstream.requests.length, 0)
})

t.test('the address with the fewest requests in progress gets the next request', async (t) => {
  const { under, other } = await startPair(t)
  const hangs: (() => void)[] = []
  other.reply((socket) => {
    hangs.push(() => socket.write(OK_REPLY))
  })
  const waiting = [fetch(`${under.gateway.url}/once/x`), fetch(`${under.gateway.url}/once/x`)]
  await Promise.any(waiting)
  t.equal(other.requests.length, 1)
  t.same(await statuses(under, '/once/x', 5), { 200: 5 })
  t.equal(other.requests.length, 1, 'the other address is still busy')
  for (const answer of hangs) answer()
  await Promise.all(waiting)
})

t.test('without retries in the policy a request is sent once', async (t) => {
  const { under, proxy } = await startPair(t)
  await proxy.down()
  t.same(await statuses(under, '/once/x', 4), { 200: 2, 502: 2 })
})

t.test(
  'the gateway retries a request at the other address when the connection to the first address fails',
  async (t) => {
    const { under, other, proxy } = await startPair(t)
    await proxy.down()
    t.same(await statuses(under, '/retried/x', 4), { 200: 4 })
    t.equal(other.requests.length, 4)
    const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
    t.match(metrics, 'scopegate_upstream_retries_total{upstream="api"} 2')
    t.match(metrics, /^# HELP scopegate_upstream_retries_total Retries of requests to an upstream/m)
  },
)

t.test(
  'the gateway retries a request at the other address when its connection broke before a response',
  async (t) => {
    const { under, other } = await startPair(t)
    under.upstream.reply((socket) => {
      socket.resetAndDestroy()
    })
    t.same(await statuses(under, '/retried/x', 4), { 200: 4 })
    t.equal(under.upstream.requests.length, 2)
    t.equal(other.requests.length, 4)
  },
)

t.test('a 503 response is retried at another address, and returned when every address fails', async (t) => {
  const { under, other } = await startPair(t)
  under.upstream.reply(UNAVAILABLE)
  t.same(await statuses(under, '/retried/x', 4), { 200: 4 })
  other.reply(UNAVAILABLE)
  const response = await fetch(`${under.gateway.url}/retried/x`)
  t.equal(response.status, 503)
  t.equal(await response.text(), 'busy', 'with the body of the upstream')
  t.equal(response.headers.get('x-scopegate-error'), null)
})

t.test('a non-idempotent method is sent once under any policy', async (t) => {
  const { under, other, proxy } = await startPair(t)
  under.upstream.reply((socket) => {
    socket.resetAndDestroy()
  })
  t.same(await statuses(under, '/retried/x', 4, { method: 'POST', body: 'x' }), { 200: 2, 502: 2 })
  t.equal(under.upstream.requests.length + other.requests.length, 4, 'each request was executed at most once')
  await proxy.down()
  t.same(await statuses(under, '/retried/x', 2, { method: 'POST', body: 'x' }), { 200: 1, 502: 1 })
})

t.test('a request with a body is retried only when no byte of the body was read', async (t) => {
  const { under, other, proxy } = await startPair(t)
  await proxy.down()
  t.same(await statuses(under, '/retried/x', 4, { method: 'PUT', body: 'whole' }), { 200: 4 })
  t.same(
    other.requests.map((request) => request.body),
    ['whole', 'whole', 'whole', 'whole'],
  )
  await proxy.up()
  under.upstream.reply((socket) => {
    socket.resetAndDestroy()
  })
  t.same(await statuses(under, '/retried/x', 2, { method: 'PUT', body: 'gone' }), { 200: 1, 502: 1 })
})

t.test('no request is retried after the first byte of the response was sent', async (t) => {
  const { under, other } = await startPair(t)
  const reply = (socket: import('node:net').Socket) => {
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')
  }
  under.upstream.reply(reply)
  other.reply(reply)
  const response = await fetch(`${under.gateway.url}/retried/x`).catch(() => undefined)
  await t.rejects(response === undefined ? Promise.reject(new Error('reset')) : response.text())
  t.equal(under.upstream.requests.length + other.requests.length, 1)
})

t.test('the gateway retries at most one request in five, plus a reserve of ten retries', async (t) => {
  const { under, other } = await startPair(t)
  for (const upstream of [under.upstream, other])
    upstream.reply((socket) => {
      socket.resetAndDestroy()
    })
  t.same(await statuses(under, '/retried/x', 100), { 502: 100 })
  const sent = under.upstream.requests.length + other.requests.length
  t.ok(sent <= 100 + 10 + 20, `${sent} requests for 100`)
  t.ok(sent >= 120, `${sent} requests for 100`)
})

t.test('an address that fails repeatedly is skipped, and returns', async (t) => {
  const { under, other, proxy } = await startPair(t, 2)
  await proxy.down()
  t.same(await statuses(under, '/once/x', 20), { 200: 18, 502: 2 })
  t.equal(other.requests.length, 18)
  await proxy.up()
  const before = under.upstream.requests.length
  while (under.upstream.requests.length === before)
    t.same(await statuses(under, '/once/x', 1), { 200: 1 }, 'the probe costs no client request')
})
